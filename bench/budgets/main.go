// Command budgets measures the budgets of the skeleton from outside, over
// sockets: readiness, memory, remote write ingest beside Prometheus itself, and
// the Now API. It prints Markdown.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sort"
	"strings"
	"time"
)

func main() {
	bin := flag.String("sightline", "bin/sightline", "binary under test")
	peer := flag.String("prometheus", "", "Prometheus binary built from its module; without it ingest has no peer and is left out")
	only := flag.String("only", "ready,ingest,rss,now", "which budgets to measure")
	pairs := flag.Int("pairs", 7, "interleaved pairs for ingest")
	soak := flag.Duration("rss-for", 4*time.Minute, "how long 20,000 series are kept active")
	flag.Parse()
	fmt.Printf("Measured %s on %s. Command: `scripts/bench`, budgets %s.\n", time.Now().UTC().Format("2006-01-02 15:04 UTC"), machine(), *only)
	for _, name := range strings.Split(*only, ",") {
		var err error
		switch name {
		case "ready":
			err = ready(*bin)
		case "ingest":
			if *peer == "" {
				fmt.Println("\n## Ingest\n\nnot measured: no peer given")
				continue
			}
			err = ingest(*bin, *peer, *pairs)
		case "rss":
			err = rss(*bin, *soak)
		case "now":
			err = now(*bin)
		default:
			err = fmt.Errorf("no budget is named %q", name)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "budgets:", name+":", err)
			os.Exit(1)
		}
	}
}

func machine() string {
	cpu := "unknown CPU"
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for _, l := range strings.Split(string(b), "\n") {
			if k, v, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(k) == "model name" {
				cpu = strings.TrimSpace(v)
				break
			}
		}
	}
	kernel, _ := exec.Command("uname", "-sr").Output()
	return fmt.Sprintf("%d cores, %s, %s, %s", runtime.NumCPU(), cpu, strings.TrimSpace(string(kernel)), runtime.Version())
}

// spread describes repeats as minimum, median and maximum.
func spread(v []float64, unit string) string {
	s := append([]float64(nil), v...)
	sort.Float64s(s)
	return fmt.Sprintf("%.3g %s (min %.3g, max %.3g, n %d)", s[len(s)/2], unit, s[0], s[len(s)-1], len(s))
}

func median(v []float64) float64 {
	s := append([]float64(nil), v...)
	sort.Float64s(s)
	return s[len(s)/2]
}

// quantile is the nearest-rank quantile.
func quantile(v []float64, q float64) float64 {
	s := append([]float64(nil), v...)
	sort.Float64s(s)
	i := int(q*float64(len(s))+0.9999999) - 1
	return s[max(0, min(i, len(s)-1))]
}

func verdict(ok bool) string {
	if ok {
		return "held"
	}
	return "**missed**"
}
