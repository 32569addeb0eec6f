package scrape

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sightline/internal/ingest"
)

// TestLyingTargetsAreNamedAndHurtNobodyElse runs one healthy target beside each
// kind of broken one and wants a code and advice for each, and the healthy one up.
func TestLyingTargetsAreNamedAndHurtNobodyElse(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	unreachable := "http://" + gone.Addr().String()
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	slow := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	elsewhere := serve(t, text("stolen 1\n"))
	cases := []struct {
		name, url, code string
		words           []string
	}{
		{"unreachable", unreachable, "target_unreachable", []string{"cannot be reached"}},
		{"slow", slow.URL, "target_timeout", []string{"within the scrape timeout"}},
		{"html", serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, "<!DOCTYPE html>\n<html><body>Welcome</body></html>\n")
		}).URL, "target_not_exposition", []string{"web page"}},
		{"html that claims to be metrics", serve(t, text("<html><body>Login</body></html>\n")).URL, "target_not_exposition", []string{"web page"}},
		{"json", serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"status":"ok"}`)
		}).URL, "target_not_exposition", []string{"not Prometheus metrics"}},
		{"half a line", serve(t, text("good 1\nrequests_total{model=\"res")).URL, "target_not_exposition", []string{"one bad line voids the whole scrape"}},
		{"cut connection", serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4")
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "good 1\n")
		}).URL, "target_truncated", []string{"in the middle of its answer"}},
		{"half a protobuf", serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited")
			_, _ = w.Write([]byte{0x40, 0x0a, 0x03, 'a', 'b'})
		}).URL, "target_truncated", nil},
		{"status", serve(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }).URL, "target_http_status", []string{"403"}},
		{"redirect to another host", serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/metrics", http.StatusFound)
		}).URL, "target_http_status", []string{"302"}},
		{"TLS expected", strings.Replace(serve(t, text("x 1\n")).URL, "http://", "https://", 1), "target_tls", nil},
		{"name without value", serve(t, text("good 1\nbad\n")).URL, "target_not_exposition", nil},
	}
	healthy := serve(t, text("healthy 1\n"))
	c := Config{Targets: []TargetConfig{{URL: healthy.URL}}}
	for _, cs := range cases {
		c.Targets = append(c.Targets, TargetConfig{URL: cs.url, Interval: 500 * time.Millisecond, Timeout: 300 * time.Millisecond})
	}
	r := run(t, c, ingest.Limits{})
	for _, cs := range cases {
		var st TargetStatus
		eventually(t, cs.name+" judged", func() bool {
			for _, s := range r.Targets() {
				if strings.HasPrefix(s.URL, cs.url) && s.Health == "down" {
					st = s
					return true
				}
			}
			return false
		})
		if st.Error == nil || st.Error.Code != cs.code {
			t.Errorf("%s: %+v, want code %s", cs.name, st.Error, cs.code)
			continue
		}
		for _, w := range append(cs.words, st.URL) {
			if !strings.Contains(st.Error.Text, w) {
				t.Errorf("%s: text %q lacks %q", cs.name, st.Error.Text, w)
			}
		}
		if st.Error.Hint == "" {
			t.Errorf("%s: no hint", cs.name)
		}
		eventually(t, cs.name+" as a condition", func() bool {
			for _, c := range r.health.Conditions() {
				if c.Code == cs.code && c.Subject == st.ID {
					return true
				}
			}
			return false
		})
	}
	if st := r.of(healthy); st.Health != "up" || st.Error != nil {
		t.Errorf("the healthy target suffers: %+v", st)
	}
	if _, ok := r.value(t, "good"); ok {
		t.Error("part of a broken scrape was stored")
	}
	if _, ok := r.value(t, "stolen"); ok {
		t.Error("a redirect to another host was followed")
	}
}

// TestACutInTheMiddleOfANumber: "b 12" may be the half of "b 1234". An answer
// that ends with the connection, without any length, is believed only when it
// ends with a whole line; with a length the exporter merely forgot the newline.
func TestACutInTheMiddleOfANumber(t *testing.T) {
	cut := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n\r\na 1\nb 12")
		_ = conn.Close()
	})
	whole := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n\r\nc 1\nd 12\n")
		_ = conn.Close()
	})
	sized := serve(t, text("e 12"))
	r := run(t, Config{Targets: []TargetConfig{{URL: cut.URL}, {URL: whole.URL}, {URL: sized.URL}}}, ingest.Limits{})
	for _, s := range []*target{cut, whole, sized} {
		eventually(t, "a scrape", func() bool { return !r.of(s).LastScrape.IsZero() })
	}
	if st := r.of(cut); st.Health != "down" || st.Error == nil || st.Error.Code != "target_truncated" {
		t.Errorf("cut: %s %v", st.Health, st.Error)
	}
	if _, ok := r.value(t, "b"); ok {
		t.Error("half a number was stored")
	}
	if st := r.of(whole); st.Health != "up" {
		t.Errorf("whole: %v", st.Error)
	}
	if st := r.of(sized); st.Health != "up" {
		t.Errorf("sized: %v", st.Error)
	}
}

func TestOddSamplesCostOnlyThemselves(t *testing.T) {
	var n atomic.Int64
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		i := n.Add(1)
		future := time.Now().Add(time.Hour).UnixMilli()
		old := time.Now().Add(-48 * time.Hour).UnixMilli()
		counter := 100 * i
		if i > 3 {
			counter = i // the process restarted
		}
		text(fmt.Sprintf("dup{a=\"1\"} 1\ndup{a=\"1\"} 2\nnan NaN\ninf +Inf\nahead 1 %d\nancient 1 %d\nzz 1\ncounter_total %d\naa 1\n", future, old, counter))(w, r)
	})
	r := run(t, Config{Targets: []TargetConfig{{URL: s.URL}}}, ingest.Limits{})
	eventually(t, "six scrapes", func() bool { return n.Load() > 6 })
	st := r.of(s)
	if st.Health != "up" || st.Error != nil {
		t.Fatalf("status %+v", st)
	}
	codes := map[string]bool{}
	for _, w := range st.Warnings {
		codes[w.Code] = true
	}
	if !codes["target_duplicate_series"] || !codes["target_timestamp_future"] || codes["target_series_limit"] {
		t.Errorf("warnings %v", st.Warnings)
	}
	for expr, want := range map[string]float64{"dup": 1, "aa": 1, "zz": 1, "inf": math.Inf(1)} {
		if v, ok := r.value(t, expr); !ok || v != want {
			t.Errorf("%s is %g, %v", expr, v, ok)
		}
	}
	if v, ok := r.value(t, "nan"); !ok || !math.IsNaN(v) {
		t.Errorf("NaN became %g, %v", v, ok)
	}
	for _, expr := range []string{"ahead", "ancient"} {
		if _, ok := r.value(t, expr); ok {
			t.Errorf("%s was stored", expr)
		}
	}
	if v, ok := r.value(t, "resets(counter_total[1m])"); !ok || v != 1 {
		t.Errorf("counter resets %g, %v", v, ok)
	}
	if v, ok := r.value(t, "increase(counter_total[1m])"); !ok || v < 0 {
		t.Errorf("increase over a reset is %g, %v", v, ok)
	}
	if c := r.condition("target_duplicate_series"); c == nil || c.Subject != s.URL+"/metrics" {
		t.Errorf("condition %+v", c)
	}
	s.answer(text("aa 1\n"))
	eventually(t, "conditions clear", func() bool {
		return r.condition("target_duplicate_series") == nil && r.condition("target_timestamp_future") == nil
	})
}

func TestALabelWithEverNewValues(t *testing.T) {
	var n atomic.Int64
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		base := n.Add(1) * 100
		var b strings.Builder
		fmt.Fprintf(&b, "known_total{code=\"200\"} %d\n", base)
		for i := range int64(100) {
			fmt.Fprintf(&b, "requests_total{code=\"%d\",request_id=\"r-%d\"} 1\n", i%3, base+i)
		}
		text(b.String())(w, r)
	})
	r := run(t, Config{Targets: []TargetConfig{{URL: s.URL, Interval: 100 * time.Millisecond}}}, ingest.Limits{SeriesPerTarget: 250})
	eventually(t, "the limit", func() bool { st := r.of(s); return len(st.Warnings) == 1 && n.Load() > 8 })
	st := r.of(s)
	if st.Health != "up" || st.Warnings[0].Code != "target_series_limit" || !strings.Contains(st.Warnings[0].Text, `"request_id"`) || st.RefusedLabel != "request_id" || st.Series != 250 || st.SeriesRefused == 0 {
		t.Errorf("status %+v", st)
	}
	if c := r.condition("series_limit"); c == nil || c.Subject != st.ID || !strings.Contains(c.Text, `"request_id"`) {
		t.Errorf("condition %+v", c)
	}
	before := n.Load()
	eventually(t, "the known series to go on", func() bool { v, ok := r.value(t, "known_total"); return ok && v > float64(before*100) })
	if v, _ := r.value(t, "count({__name__=~\"known_total|requests_total\"})"); v > 250 {
		t.Errorf("%g series are stored", v)
	}
}

// lines streams n lines of metrics without holding them.
func lines(n int, line string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		b := bufio.NewWriterSize(w, 1<<16)
		for i := range n {
			fmt.Fprintf(b, line, i)
		}
		_ = b.Flush()
	}
}

func TestAMillionSeriesStopAtTheLimitInBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped with -short: it reads a million series")
	}
	s := serve(t, lines(1_000_000, "m{i=\"%d\"} 1\n"))
	healthy := serve(t, text("healthy 1\n"))
	r := run(t, Config{Targets: []TargetConfig{
		{URL: s.URL, Interval: time.Minute, Timeout: time.Minute}, {URL: healthy.URL},
	}}, ingest.Limits{SeriesPerTarget: 5_000})
	within(t, 90*time.Second, "the scrape", func() bool { return r.of(s).Samples == 1_000_000 })
	st := r.of(s)
	if st.Health != "up" || st.Series != 5_000 || len(st.Warnings) == 0 || st.Warnings[0].Code != "target_series_limit" {
		t.Errorf("status %+v", st)
	}
	if v, ok := r.value(t, `up{instance="`+st.Instance+`"}`); !ok || v != 1 {
		t.Errorf("up is %g, %v", v, ok)
	}
	if v, _ := r.value(t, "count(m)"); v != 5_000 {
		t.Errorf("%g series are stored", v)
	}
	if st := r.of(healthy); st.Health != "up" {
		t.Errorf("the healthy target suffers: %+v", st)
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("heap in use after a million series: %d MiB", m.HeapAlloc>>20)
	if m.HeapAlloc > 200<<20 {
		t.Errorf("%d MiB stay in use", m.HeapAlloc>>20)
	}
}

func TestBodiesOfFiftyMegabytes(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped with -short: it moves a hundred megabytes")
	}
	comment := bytes.Repeat([]byte("# "+strings.Repeat("x", 997)+"\n"), 1)
	body := func(total int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4")
			for n := 0; n < total-len(comment); n += len(comment) {
				if _, err := w.Write(comment); err != nil {
					return
				}
			}
			_, _ = io.WriteString(w, "after_the_comments 1\n")
		}
	}
	fits, exceeds := serve(t, body(50_000_000)), serve(t, body(50<<20))
	r := run(t, Config{Targets: []TargetConfig{
		{URL: fits.URL, Interval: 20 * time.Second, Timeout: 20 * time.Second},
		{URL: exceeds.URL, Interval: 20 * time.Second, Timeout: 20 * time.Second},
	}}, ingest.Limits{})
	eventually(t, "both", func() bool { return !r.of(fits).LastScrape.IsZero() && !r.of(exceeds).LastScrape.IsZero() })
	if st := r.of(fits); st.Health != "up" || st.Error != nil {
		t.Errorf("50 MB that are valid and within the limit: %+v", st.Error)
	}
	if st := r.of(exceeds); st.Health != "down" || st.Error == nil || st.Error.Code != "target_body_too_large" {
		t.Errorf("50 MiB: %+v", st.Error)
	}
}
