package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"
)

const (
	ingestSeries   = 20_000
	seriesPerBody  = 2_000
	roundsPerBatch = 60
)

var writeHeader = map[string]string{
	"Content-Type": "application/x-protobuf", "Content-Encoding": "snappy", "X-Prometheus-Remote-Write-Version": "0.1.0",
}

// bodies packs one sample at t for each of n series into remote write requests
// of the size that Prometheus itself sends.
func bodies(n int, t int64) [][]byte {
	var out [][]byte
	for lo := 0; lo < n; lo += seriesPerBody {
		var req prompb.WriteRequest
		for i := lo; i < min(n, lo+seriesPerBody); i++ {
			req.Timeseries = append(req.Timeseries, prompb.TimeSeries{
				Labels: []prompb.Label{
					{Name: "__name__", Value: fmt.Sprintf("bench_metric_%d_total", i%100)},
					{Name: "instance", Value: fmt.Sprintf("node-%d:8000", i/1000)},
					{Name: "job", Value: "bench"},
					{Name: "model", Value: fmt.Sprintf("model-%d", i%37)},
					{Name: "series", Value: fmt.Sprint(i)},
				},
				Samples: []prompb.Sample{{Value: float64(i) + float64(t%1000), Timestamp: t}},
			})
		}
		b, err := req.Marshal()
		if err != nil {
			panic(err)
		}
		out = append(out, snappy.Encode(nil, b))
	}
	return out
}

// push sends roundsPerBatch scrape rounds and returns samples per second of
// wall time and CPU seconds per million samples.
func push(p *process, batch [][][]byte) (rate, cpuPerMillion float64, err error) {
	c0, err := p.cpuSeconds()
	if err != nil {
		return 0, 0, err
	}
	begin := time.Now()
	for _, round := range batch {
		for _, b := range round {
			if err := post("http://"+p.addr+"/api/v1/write", bytes.NewReader(b), writeHeader); err != nil {
				return 0, 0, err
			}
		}
	}
	wall := time.Since(begin).Seconds()
	c1, err := p.cpuSeconds()
	n := float64(len(batch) * ingestSeries)
	return n / wall, (c1 - c0) / n * 1e6, err
}

// ingest compares remote write beside Prometheus: both servers run throughout,
// the same bodies go to one then to the other in random order, pair by pair.
func ingest(bin, peer string, pairs int) error {
	ours, _, err := start(bin, "/readyz", "serve", "--listen", "{addr}", "--data", "{dir}", "--log-level", "warn")
	if err != nil {
		return err
	}
	defer ours.stop()
	theirs, _, err := start(peer, "/-/ready", "--config.file=/dev/null", "--web.listen-address={addr}", "--storage.tsdb.path={dir}",
		"--web.enable-remote-write-receiver", "--storage.tsdb.retention.time=15d", "--enable-feature=exemplar-storage", "--log.level=warn")
	if err != nil {
		return err
	}
	defer theirs.stop()

	t := time.Now().Add(-20 * time.Minute).UnixMilli()
	var ratios, ourRate, theirRate, cpuRatios []float64
	for pair := range pairs + 1 { // the first pair creates the series and is not counted
		var batch [][][]byte
		for range roundsPerBatch {
			batch = append(batch, bodies(ingestSeries, t))
			t += 1000
		}
		order := []*process{ours, theirs}
		if rand.IntN(2) == 0 {
			order[0], order[1] = order[1], order[0]
		}
		rate, cpu := map[*process]float64{}, map[*process]float64{}
		for _, p := range order {
			r, c, err := push(p, batch)
			if err != nil {
				return err
			}
			rate[p], cpu[p] = r, c
		}
		if pair == 0 {
			continue
		}
		ourRate, theirRate = append(ourRate, rate[ours]), append(theirRate, rate[theirs])
		ratios = append(ratios, rate[ours]/rate[theirs])
		cpuRatios = append(cpuRatios, cpu[ours]/cpu[theirs])
	}
	fmt.Printf("\n## Ingest by remote write, beside Prometheus v0.316.0\n\nBudget: ≥ 0.9 × Prometheus. %d series, bodies of %d series, one connection, %d rounds a run, runs interleaved in random order, both servers alive throughout.\n\n", ingestSeries, seriesPerBody, roundsPerBatch)
	fmt.Printf("| what | value |\n|---|---|\n| Sightline, samples per second | %s |\n| Prometheus, samples per second | %s |\n| ratio of rates | %s |\n| ratio of CPU per sample | %s |\n| budget | %s |\n",
		spread(ourRate, ""), spread(theirRate, ""), spread(ratios, "×"), spread(cpuRatios, "×"), verdict(median(ratios) >= 0.9))
	return nil
}
