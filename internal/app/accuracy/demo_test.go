package accuracy

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"sightline/internal/collect/scrape"
	"sightline/internal/demo/accel"
	"sightline/internal/demo/chat"
	"sightline/internal/demo/vision"
	"sightline/internal/health"
	"sightline/internal/ingest"
	"sightline/internal/loadgen"
	"sightline/internal/metricstore"
	"sightline/internal/model"
	"sightline/internal/ruler"
	"sightline/internal/signals"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The demo's names, as in the product.
const (
	imageModel = "resnet_mini"
	chatModel  = "tiny-chat"
	second     = time.Second
)

// options says how this run of the demo differs from the product's.
type options struct {
	models []vision.ModelConfig // nil: the product's
	chat   bool                 // run the language model too
	vision loadgen.VisionPlan
	talk   loadgen.ChatPlan
	window time.Duration // of rates and means
}

// demo is the demo at work: engines, cards, load, scrapes, store.
type demo struct {
	t       *testing.T
	o       options
	store   *metricstore.Store
	cat     *signals.Catalogue
	load    *loadgen.Generator
	scrapes *scrape.Manager
	cards   []*accel.Device // of vision-0, vision-1, chat-0
	images  []*vision.Server
	busy    []*busyLog
	noise   noise
}

// scrapeEvery is how often targets are scraped here: shorter than in the
// product, so that a minute's window has sixty samples.
const scrapeEvery = second

func instanceName(i int) string { return fmt.Sprintf("demo/vision-%d", i) }

// start runs everything until the test ends.
func start(t *testing.T, o options) *demo {
	t.Helper()
	if testing.Short() {
		t.Skip("the accuracy gate runs real engines for about a minute; run go test without -short")
	}
	// Engines that compute and clients that measure share this process. With one
	// processor of Go's for each core, an answer would wait for up to 10 ms until
	// a computing goroutine is preempted; with more, the kernel decides, as it
	// does between the separate processes that are the subject.
	procs := runtime.GOMAXPROCS(8 * runtime.NumCPU())
	t.Cleanup(func() { runtime.GOMAXPROCS(procs) })
	d := &demo{t: t, o: o}
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	// Engines outlive the load: their last answers are part of the log.
	engines, stopEngines := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	t.Cleanup(func() { stopEngines(); wg.Wait() })
	run := func(ctx context.Context, what string, f func(context.Context) error) {
		wg.Go(func() {
			if err := f(ctx); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		})
	}

	c := scrape.DefaultConfig()
	c.Interval, c.Timeout = scrapeEvery, scrapeEvery
	card := func(node string, index int, pod string) *accel.Device {
		dev := accel.New(accel.Config{Node: node, Index: index, Namespace: "demo", Pod: pod, Container: "engine"})
		dev.Start(engines)
		d.cards = append(d.cards, dev)
		return dev
	}
	var nodeCards []*accel.Device
	for i := range 2 {
		dev := card("demo-node-1", i, fmt.Sprintf("vision-%d", i))
		nodeCards = append(nodeCards, dev)
		s, err := vision.New(vision.Config{Name: fmt.Sprintf("vision-%d", i), Node: "demo-node-1", Device: dev, Models: o.models, SummaryLatencies: true, HistogramLatencies: true, Log: log})
		if err != nil {
			t.Fatal(err)
		}
		d.images = append(d.images, s)
		run(engines, "vision", s.Run)
		c.Targets = append(c.Targets, scrape.TargetConfig{URL: "http://" + s.MetricsAddr() + "/metrics", Service: "vision", Namespace: "demo", Pod: fmt.Sprintf("vision-%d", i), Node: "demo-node-1"})
		o.vision.Targets = append(o.vision.Targets, loadgen.Target{URL: "http://" + s.HTTPAddr(), Instance: instanceName(i)})
	}
	serve := func(node string, cards ...*accel.Device) {
		s := httptest.NewServer(accel.Handler(cards...))
		t.Cleanup(s.Close)
		c.Targets = append(c.Targets, scrape.TargetConfig{URL: s.URL + "/metrics", Service: "gpu", Node: node, Job: "dcgm"})
	}
	serve("demo-node-1", nodeCards...)

	lc := loadgen.DefaultConfig()
	o.vision.Model, o.vision.Timing = imageModel, true
	lc.Vision = []loadgen.VisionPlan{o.vision}
	if o.chat {
		dev := card("demo-node-2", 0, "chat-0")
		s, err := chat.New(chat.Config{Accelerator: dev, Log: log, KVBlocks: 512})
		if err != nil {
			t.Fatal(err)
		}
		run(engines, "chat", s.Run)
		c.Targets = append(c.Targets, scrape.TargetConfig{URL: "http://" + s.HTTPAddr() + "/metrics", Service: "chat", Namespace: "demo", Pod: "chat-0", Node: "demo-node-2"})
		serve("demo-node-2", dev)
		o.talk.Model, o.talk.Timing = chatModel, true
		o.talk.Targets = []loadgen.Target{{URL: "http://" + s.HTTPAddr(), Instance: "demo/chat-0"}}
		lc.Chat = []loadgen.ChatPlan{o.talk}
	}
	for _, dev := range d.cards {
		b := &busyLog{}
		d.busy = append(d.busy, b)
		run(engines, "busy log", func(ctx context.Context) error { b.follow(ctx, dev); return nil })
	}

	run(engines, "noise", func(ctx context.Context) error { d.noise.follow(ctx); return nil })

	reg, h := prometheus.NewRegistry(), health.New(log, nil)
	store, err := metricstore.Open(t.Context(), metricstore.DefaultConfig(t.TempDir()), log, reg, h)
	if err != nil {
		t.Fatal(err)
	}
	d.store = store
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("store: %v", err)
		}
	})
	if d.cat, err = signals.Load(); err != nil {
		t.Fatal(err)
	}
	if d.scrapes, err = scrape.New(c, ingest.NewGuard(store.Appendable(), ingest.DefaultLimits(), reg, h), log, reg, h); err != nil {
		t.Fatal(err)
	}
	rule, err := ruler.New(ruler.Options{Interval: ruleInterval, Signals: signals.Options{Window: o.window, ScrapeInterval: scrapeEvery}}, store.Engine(), store.Queryable(), store.Appendable(), d.cat, log, reg, h)
	if err != nil {
		t.Fatal(err)
	}
	if d.load, err = loadgen.New(lc, log); err != nil {
		t.Fatal(err)
	}
	d.waitReady(o)

	collecting, stopCollecting := context.WithCancel(context.Background())
	var collectors sync.WaitGroup
	collectors.Go(func() {
		if err := d.scrapes.Run(collecting); err != nil {
			t.Errorf("scrapes: %v", err)
		}
	})
	collectors.Go(func() {
		if err := rule.Run(collecting); err != nil {
			t.Errorf("rules: %v", err)
		}
	})
	collectors.Go(func() { d.follow(collecting, rule) })
	sending, stopSending := context.WithCancel(context.Background())
	var senders sync.WaitGroup
	senders.Go(func() {
		if err := d.load.Run(sending); err != nil {
			t.Errorf("load: %v", err)
		}
	})
	t.Cleanup(func() { // runs first: load, then scrapes, then store and engines
		stopSending()
		senders.Wait()
		stopCollecting()
		collectors.Wait()
	})
	return d
}

// waitReady waits until the models are loaded, so that the first request does
// not meet a server that starts.
func (d *demo) waitReady(o options) {
	d.t.Helper()
	deadline := time.Now().Add(30 * second)
	client := &http.Client{Timeout: second, Transport: &http.Transport{DisableKeepAlives: true}}
	up := func(url string) bool {
		res, err := client.Get(url)
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK
	}
	for _, s := range d.images {
		for !up("http://" + s.HTTPAddr() + "/v2/health/ready") {
			if time.Now().After(deadline) {
				d.t.Fatal("the vision engine is not ready after 30 s")
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	for _, c := range o.talk.Targets {
		for !up(c.URL + "/health") {
			if time.Now().After(deadline) {
				d.t.Fatal("the chat engine is not ready after 30 s")
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// waitUntil lets real time pass: engines and scrapes work at their own pace.
func waitUntil(t *testing.T, at time.Time) {
	t.Helper()
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
		t.Fatal("the test was stopped")
	}
}

// busyLog is the card's own account of its busy time, taken at every sample.
type busyLog struct {
	mu sync.Mutex
	at []time.Time
	v  []float64 // share of the interval that ended at the same index
}

func (b *busyLog) follow(ctx context.Context, dev *accel.Device) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s := dev.Snapshot()
			b.mu.Lock()
			if n := len(b.at); n == 0 || s.At.After(b.at[n-1]) {
				b.at, b.v = append(b.at, s.At), append(b.v, s.Busy)
			}
			b.mu.Unlock()
		}
	}
}

// mean is the time-weighted mean of the samples inside w.
func (b *busyLog) mean(w model.TimeRange) float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	sum, weight := 0.0, 0.0
	for i := 1; i < len(b.at); i++ {
		if b.at[i-1].Before(w.Start) || b.at[i].After(w.End) {
			continue
		}
		dt := b.at[i].Sub(b.at[i-1]).Seconds()
		sum, weight = sum+b.v[i]*dt, weight+dt
	}
	return sum / weight
}
