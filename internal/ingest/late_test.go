package ingest

import (
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"sightline/internal/model"
)

func TestLateSamplesAreToldOncePerTransaction(t *testing.T) {
	g, m, _, c, _ := guarded(Limits{})
	var told []model.TimeRange
	g.NotifyLate(11*time.Second, func(r model.TimeRange) { told = append(told, r) })
	x := labels.FromStrings("__name__", "x")

	send(t, g.AppenderV2(t.Context()), c.t.Add(-10*time.Second), x) // in time
	if len(told) != 0 {
		t.Fatalf("a sample in time was told as late: %v", told)
	}
	app := g.AppenderV2(t.Context())
	for _, ago := range []time.Duration{time.Hour, 30 * time.Minute, time.Second} {
		if _, err := app.Append(0, x, 0, c.t.Add(-ago).UnixMilli(), 1, nil, nil, storage.AOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(told) != 0 {
		t.Fatal("told before the commit")
	}
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
	if len(told) != 1 || !told[0].Start.Equal(c.t.Add(-time.Hour)) || !told[0].End.Equal(c.t.Add(-30*time.Minute)) {
		t.Fatalf("told %v", told)
	}

	gone := g.AppenderV2(t.Context())
	_, _ = gone.Append(0, x, 0, c.t.Add(-time.Hour).UnixMilli(), 1, nil, nil, storage.AOptions{})
	_ = gone.Rollback()
	m.fail = storage.ErrOutOfOrderSample
	failed := g.AppenderV2(t.Context())
	_, _ = failed.Append(0, x, 0, c.t.Add(-time.Hour).UnixMilli(), 1, nil, nil, storage.AOptions{})
	_ = failed.Commit()
	if len(told) != 1 {
		t.Errorf("what was not stored was told as late: %v", told[1:])
	}
}
