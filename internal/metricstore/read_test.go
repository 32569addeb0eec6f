package metricstore

import (
	"fmt"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// readAll gives every sample of a metric, keyed by a label's value and time.
func readAll(t *testing.T, q storage.Querier, metric, by string) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	set := q.Select(t.Context(), false, nil, labels.MustNewMatcher(labels.MatchEqual, "__name__", metric))
	var it chunkenc.Iterator
	for set.Next() {
		it = set.At().Iterator(it)
		for it.Next() != chunkenc.ValNone {
			at, v := it.At()
			out[fmt.Sprintf("%s@%d", set.At().Labels().Get(by), at)] = v
		}
		if err := it.Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := set.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
