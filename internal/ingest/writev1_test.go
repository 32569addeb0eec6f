package ingest

import (
	"context"
	"strings"
	"testing"

	"github.com/gogo/protobuf/proto"
	"github.com/prometheus/prometheus/prompb"

	"sightline/internal/model"
)

// One bad sample must not cost the others, nor be passed over in silence.
func TestWriteV1StoresWhatIsValid(t *testing.T) {
	lbl := func(kv ...string) (out []prompb.Label) {
		for i := 0; i < len(kv); i += 2 {
			out = append(out, prompb.Label{Name: kv[i], Value: kv[i+1]})
		}
		return out
	}
	at := func(t int64) []prompb.Sample { return []prompb.Sample{{Value: 1, Timestamp: t}} }
	for name, c := range map[string]struct {
		bad    func(now int64) prompb.TimeSeries
		reason string
	}{
		"future": {func(now int64) prompb.TimeSeries {
			return prompb.TimeSeries{Labels: lbl("__name__", "x"), Samples: at(now + 3_600_000)}
		}, "timestamp_future"},
		"nameless": {func(now int64) prompb.TimeSeries { return prompb.TimeSeries{Labels: lbl("a", "b"), Samples: at(now)} }, "invalid_labels"},
		"no UTF-8": {func(now int64) prompb.TimeSeries {
			return prompb.TimeSeries{Labels: lbl("__name__", "x", "a", "\xff"), Samples: at(now)}
		}, "invalid_labels"},
		"twice": {func(now int64) prompb.TimeSeries {
			return prompb.TimeSeries{Labels: lbl("__name__", "x", "a", "1", "a", "2"), Samples: at(now)}
		}, "invalid_labels"},
	} {
		t.Run(name, func(t *testing.T) {
			g, m, _, c0, _ := guarded(Limits{})
			now := c0.t.UnixMilli()
			bad := c.bad(now)
			good := func(n string) prompb.TimeSeries {
				return prompb.TimeSeries{Labels: lbl("__name__", n), Samples: at(now)}
			}
			body, err := proto.Marshal(&prompb.WriteRequest{Timeseries: []prompb.TimeSeries{good("first"), bad, good("last")}})
			if err != nil {
				t.Fatal(err)
			}
			err = g.WriteV1(context.Background(), body)
			if model.CodeOf(err) != "samples_refused" || !strings.Contains(err.Error(), "2 samples were stored and 1 refused") {
				t.Errorf("error %v", err)
			}
			if got := g.Dropped()[c.reason]; got != 1 {
				t.Errorf("counted under %s: %d", c.reason, got)
			}
			if m.samples[`{__name__="first"}`] != 1 || m.samples[`{__name__="last"}`] != 1 || len(m.samples) != 2 {
				t.Errorf("stored: %v", m.samples)
			}
		})
	}
	g, _, _, _, _ := guarded(Limits{})
	if err := g.WriteV1(context.Background(), []byte("\x0a\xff\xff")); model.CodeOf(err) != "body_invalid" {
		t.Errorf("garbage: %v", err)
	}
}
