package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"sightline/internal/app/config"
	"sightline/internal/app/lifecycle"
	"sightline/internal/demo/accel"
	"sightline/internal/demo/chat"
	"sightline/internal/demo/vision"
	"sightline/internal/health"
	"sightline/internal/loadgen"
	"sightline/internal/model"
)

// DemoSettings are what the demo's flags say.
type DemoSettings struct {
	// Fault names one of Faults; "" is none.
	Fault string
	// Seed makes payloads and arrivals repeatable.
	Seed uint64
	// LoadLog is a file for the load generator's own log; "" writes none.
	LoadLog string
	// FaultAfter is how long the demo runs healthy first; zero is 30 s.
	FaultAfter time.Duration
}

// Names of the demo's fleet.
const (
	demoNamespace  = "demo"
	visionService  = "vision"
	chatService    = "chat"
	visionModel    = "resnet_mini"
	chatModel      = "tiny-chat"
	visionReplicas = 2
)

// Memory of the demo's cards. A vision card is small on purpose: the engine
// takes half of it at the start, and one image of 1024 pixels no longer fits.
const (
	visionCardBytes = 512 << 20
	chatCardBytes   = 2 << 30
)

// fleet is the demo's engines, cards and load.
type fleet struct {
	settings DemoSettings
	log      *slog.Logger
	cards    []*accel.Device
	vision   []*vision.Server
	chat     *chat.Server
	load     *loadgen.Generator
	health   *health.Registry
	exporter []*nodeExporter
}

// nodeExporter serves the cards of one node as dcgm-exporter would.
type nodeExporter struct {
	node string
	ln   net.Listener
	srv  *http.Server
}

// preferred tries the usual port, so that a person's commands work twice, and
// takes any other when it is taken.
func preferred(port int) string {
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return "127.0.0.1:0"
	}
	ln.Close()
	return addr
}

func newFleet(s DemoSettings, log *slog.Logger, reg prometheus.Registerer, h *health.Registry) (*fleet, error) {
	f := &fleet{settings: s, health: h, log: log.With("part", "demo")}
	card := func(node string, index int, pod string, bytes int64) *accel.Device {
		d := accel.New(accel.Config{Node: node, Index: index, Namespace: demoNamespace, Pod: pod, Container: "engine", MemoryBytes: bytes})
		f.cards = append(f.cards, d)
		return d
	}
	for i := range visionReplicas {
		pod := fmt.Sprintf("vision-%d", i)
		v, err := vision.New(vision.Config{
			Name: pod, Node: "demo-node-1", Device: card("demo-node-1", i, pod, visionCardBytes),
			ListenHTTP: preferred(8100 + 10*i), ListenGRPC: preferred(8101 + 10*i), ListenMetrics: preferred(8102 + 10*i),
			SummaryLatencies: true, Log: f.log.With("engine", pod),
		})
		if err != nil {
			return nil, fmt.Errorf("start %s: %w", pod, err)
		}
		f.vision = append(f.vision, v)
	}
	c, err := chat.New(chat.Config{
		Listen: preferred(8200), Model: chatModel, Accelerator: card("demo-node-2", 0, "chat-0", chatCardBytes), KVBlocks: 512, Log: f.log.With("engine", "chat-0"),
	})
	if err != nil {
		return nil, fmt.Errorf("start chat-0: %w", err)
	}
	f.chat = c
	for i, node := range []string{"demo-node-1", "demo-node-2"} {
		var devs []*accel.Device
		for _, d := range f.cards {
			if d.Node() == node {
				devs = append(devs, d)
			}
		}
		ln, err := net.Listen("tcp", preferred(8400+i))
		if err != nil {
			return nil, listenProblem("127.0.0.1", err)
		}
		mux := http.NewServeMux()
		mux.Handle("/metrics", accel.Handler(devs...))
		f.exporter = append(f.exporter, &nodeExporter{node: node, ln: ln, srv: &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}})
	}
	if f.load, err = loadgen.New(f.plan(), f.log.With("engine", "load")); err != nil {
		return nil, err
	}
	return f, reg.Register(f.load)
}

// plan is the healthy traffic: two rates that two cores bear next to the
// engines, arrivals as in the public trace.
func (f *fleet) plan() loadgen.Config {
	c := loadgen.DefaultConfig()
	c.Seed, c.LogPath = f.settings.Seed, f.settings.LoadLog
	c.DrainTimeout = time.Second // the demo has nothing to lose at its end
	v := loadgen.VisionPlan{Traffic: loadgen.Traffic{Name: visionService, Model: visionModel, Rate: loadgen.DefaultVisionRate},
		Versions: []loadgen.Choice[string]{{Value: "1", Weight: 3}, {Value: "2", Weight: 1}}, Timing: true}
	for i, s := range f.vision {
		v.Targets = append(v.Targets, loadgen.Target{URL: "http://" + s.HTTPAddr(), Instance: demoNamespace + "/" + fmt.Sprintf("vision-%d", i)})
	}
	c.Vision = append(c.Vision, v)
	c.Chat = append(c.Chat, loadgen.ChatPlan{Traffic: loadgen.Traffic{Name: chatService, Model: chatModel, Rate: loadgen.DefaultChatRate,
		Targets: []loadgen.Target{{URL: "http://" + f.chat.HTTPAddr(), Instance: demoNamespace + "/chat-0"}}}, Timing: true})
	return c
}

// targets is what the demo's server scrapes, often enough that the first
// numbers show within seconds.
func (f *fleet) targets() []config.Target {
	every := config.Duration(demoInterval)
	var out []config.Target
	for i, s := range f.vision {
		out = append(out, config.Target{URL: "http://" + s.MetricsAddr() + "/metrics", Service: visionService, Namespace: demoNamespace,
			Pod: fmt.Sprintf("vision-%d", i), Node: "demo-node-1", Interval: every, Timeout: every})
	}
	out = append(out, config.Target{URL: "http://" + f.chat.HTTPAddr() + "/metrics", Service: chatService, Namespace: demoNamespace,
		Pod: "chat-0", Node: "demo-node-2", Interval: every, Timeout: every})
	for _, e := range f.exporter {
		out = append(out, config.Target{URL: "http://" + e.ln.Addr().String() + "/metrics", Service: "gpu", Node: e.node, Interval: every, Timeout: every,
			Labels: map[string]string{model.LabelSimulated: "true"}})
	}
	return out
}

const demoInterval = 2 * time.Second

func (f *fleet) services() []lifecycle.Service {
	out := []lifecycle.Service{{Name: "cards", Run: func(ctx context.Context) error {
		for _, d := range f.cards {
			d.Start(ctx)
			defer d.Close()
		}
		<-ctx.Done()
		return nil
	}}}
	for _, e := range f.exporter {
		out = append(out, lifecycle.Service{Name: "exporter of " + e.node, Run: func(ctx context.Context) error {
			stop := context.AfterFunc(ctx, func() { _ = e.srv.Close() })
			defer stop()
			if err := e.srv.Serve(e.ln); err != http.ErrServerClosed {
				return err
			}
			return nil
		}})
	}
	engines := map[string]func(context.Context) error{"chat-0": f.chat.Run}
	for i, s := range f.vision {
		engines[fmt.Sprintf("vision-%d", i)] = s.Run
	}
	return append(out,
		lifecycle.Service{Name: "engines", Run: func(ctx context.Context) error { return together(ctx, engines) }},
		lifecycle.Service{Name: "load", Run: func(ctx context.Context) error {
			if !f.waitReady(ctx) {
				return nil
			}
			return f.load.Run(ctx)
		}},
		lifecycle.Service{Name: "fault", Run: f.injectFault},
		lifecycle.Service{Name: "strain", Run: f.watchStrain})
}

// together runs parts that stop at the same time; the first failure ends all.
func together(ctx context.Context, parts map[string]func(context.Context) error) error {
	g, ctx := errgroup.WithContext(ctx)
	for name, run := range parts {
		g.Go(func() error {
			if err := run(ctx); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		})
	}
	return g.Wait()
}

// waitReady holds the load back until every model is loaded: a service behind a
// readiness probe gets no traffic before.
func (f *fleet) waitReady(ctx context.Context) bool {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		ready := true
		for _, s := range f.vision {
			ready = ready && s.Ready()
		}
		if ready {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}

// watchStrain says when the host cannot carry the demo: cards that are busy all
// the time mean that arithmetic takes longer than the load allows, and then
// every number shows the host and not the engines.
func (f *fleet) watchStrain(ctx context.Context) error {
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	strained := 0
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		busiest := 0.0
		for _, d := range f.cards {
			busiest = max(busiest, d.Snapshot().Busy)
		}
		if busiest < 0.97 {
			strained = 0
			f.health.Clear("demo_host_strained", "demo")
			continue
		}
		if strained++; strained == 6 {
			f.health.Set(health.Condition{Code: "demo_host_strained", Severity: health.Info, Subject: "demo",
				Text: "an engine of the demo has computed without a pause for half a minute: this host is too small or too busy for the demo's load, or a fault is on",
				Hint: "give the demo two free cores; latencies show the host until then"})
		}
	}
}

// print tells where the engines answer, one line each.
func (f *fleet) print(w io.Writer) {
	for i, s := range f.vision {
		fmt.Fprintf(w, "  vision-%d http=http://%s grpc=%s metrics=http://%s/metrics\n", i, s.HTTPAddr(), s.GRPCAddr(), s.MetricsAddr())
	}
	fmt.Fprintf(w, "  chat-0 http=http://%s metrics=http://%s/metrics\n", f.chat.HTTPAddr(), f.chat.HTTPAddr())
	for _, e := range f.exporter {
		fmt.Fprintf(w, "  %s metrics=http://%s/metrics\n", e.node, e.ln.Addr())
	}
	if f.settings.Fault != "none" && f.settings.Fault != "" {
		fmt.Fprintf(w, "\n  the fault %s comes half a minute after the start\n", f.settings.Fault)
	}
	fmt.Fprintln(w)
}
