package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// ready measures start to readiness of an empty and of a filled data directory.
func ready(bin string) error {
	var took []float64
	for range 7 {
		p, d, err := start(bin, "/readyz", "serve", "--listen", "{addr}", "--data", "{dir}", "--log-level", "warn")
		if err != nil {
			return err
		}
		took = append(took, d.Seconds())
		p.stop()
	}
	fmt.Printf("\n## Ready after start\n\nBudget: ≤ 3 s. `serve` on an empty directory: %s, %s.\n", spread(took, "s"), verdict(quantile(took, 1) <= 3))
	return nil
}

// rss keeps 20,000 series active at 5 s and records the resident set.
func rss(bin string, length time.Duration) error {
	p, _, err := start(bin, "/readyz", "serve", "--listen", "{addr}", "--data", "{dir}", "--log-level", "warn")
	if err != nil {
		return err
	}
	defer p.stop()
	var seen []float64
	begin := time.Now()
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for time.Since(begin) < length {
		for _, b := range bodies(20_000, time.Now().UnixMilli()) {
			if err := post("http://"+p.addr+"/api/v1/write", bytes.NewReader(b), writeHeader); err != nil {
				return err
			}
		}
		r, err := p.rssBytes()
		if err != nil {
			return err
		}
		seen = append(seen, r/(1<<20))
		<-tick.C
	}
	fmt.Printf("\n## Memory of `serve` with 20,000 active series\n\nBudget: ≤ 300 MiB resident. One sample of each series every 5 s for %s, rules on. Resident MiB: start %.0f, %s, last %.0f: %s.\n",
		length, seen[0], spread(seen, "MiB"), seen[len(seen)-1], verdict(quantile(seen, 1) <= 300))
	return nil
}

const nowModels, nowInstances = 50, 4

// exposition is what a Triton with many models would say after n seconds.
func exposition(instance int, seconds float64) string {
	var b strings.Builder
	family := func(name, typ string, value func(m int) float64) {
		fmt.Fprintf(&b, "# HELP %s x\n# TYPE %s %s\n", name, name, typ)
		for m := range nowModels {
			fmt.Fprintf(&b, "%s{gpu_uuid=\"GPU-%d\",model=\"model-%d\",version=\"1\"} %g\n", name, instance, m, value(m))
		}
	}
	rate := func(m int) float64 { return float64(m%7+1) * seconds }
	family("nv_inference_request_success", "counter", rate)
	family("nv_inference_count", "counter", func(m int) float64 { return 2 * rate(m) })
	family("nv_inference_exec_count", "counter", rate)
	for i, n := range []string{"request", "queue", "compute_input", "compute_infer", "compute_output"} {
		family("nv_inference_"+n+"_duration_us", "counter", func(m int) float64 { return rate(m) * float64(20000/(i+1)) })
	}
	family("nv_inference_pending_request_count", "gauge", func(m int) float64 { return float64(m % 3) })
	return b.String()
}

// now scrapes four expositions of fifty models each (200 model × instance rows)
// and times the Now API.
func now(bin string) error {
	began := time.Now()
	args := []string{"up", "--listen", "{addr}", "--data", "{dir}", "--log-level", "warn"}
	for i := range nowInstances {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4")
			_, _ = io.WriteString(w, exposition(i, 1000+time.Since(began).Seconds()))
		})}
		go func() { _ = srv.Serve(l) }()
		defer srv.Close()
		args = append(args, "--target", fmt.Sprintf("service-%d=http://%s/metrics", i, l.Addr()))
	}
	p, _, err := start(bin, "/readyz", args...)
	if err != nil {
		return err
	}
	defer p.stop()
	url := "http://" + p.addr + "/api/v1/sightline/now"
	rows := 0
	for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline) && rows < nowModels*nowInstances; time.Sleep(time.Second) {
		if rows, err = countRows(url); err != nil {
			return err
		}
	}
	if rows < nowModels*nowInstances {
		return fmt.Errorf("%d rows, want %d", rows, nowModels*nowInstances)
	}
	time.Sleep(2 * time.Minute) // two minutes of history for the sparklines
	var took []float64
	for range 100 {
		begin := time.Now()
		if _, err := countRows(url); err != nil {
			return err
		}
		took = append(took, time.Since(begin).Seconds()*1000)
		time.Sleep(150 * time.Millisecond)
	}
	r, _ := p.rssBytes()
	fmt.Printf("\n## Now API with %d rows\n\nBudget: ≤ 100 ms at p95. 100 requests while scraping and rules run: p50 %.1f ms, p95 %.1f ms, max %.1f ms: %s. Resident set then: %.0f MiB.\n",
		rows, quantile(took, 0.5), quantile(took, 0.95), quantile(took, 1), verdict(quantile(took, 0.95) <= 100), r/(1<<20))
	return nil
}

func countRows(url string) (int, error) {
	res, err := http.Get(url)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	var a struct {
		Data struct{ Rows []json.RawMessage }
	}
	if err := json.NewDecoder(res.Body).Decode(&a); err != nil {
		return 0, err
	}
	return len(a.Data.Rows), nil
}
