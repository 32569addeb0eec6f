package spool

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/storage/remote"
	"go.uber.org/goleak"

	"sightline/internal/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake answers with the next error of its list, then takes everything.
type fake struct {
	mu   sync.Mutex
	errs []error
	got  []writev2.Request
}

func (f *fake) Store(_ context.Context, body []byte, _ int) (remote.WriteResponseStats, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.errs) > 0 {
		err := f.errs[0]
		f.errs = f.errs[1:]
		if err != nil {
			return remote.WriteResponseStats{}, err
		}
	}
	raw, err := snappy.Decode(nil, body)
	if err != nil {
		return remote.WriteResponseStats{}, err
	}
	var r writev2.Request
	if err := r.Unmarshal(raw); err != nil {
		return remote.WriteResponseStats{}, err
	}
	f.got = append(f.got, r)
	return remote.WriteResponseStats{}, nil
}

func add(t *testing.T, s *Spool, ts int64) {
	t.Helper()
	app := s.AppenderV2(context.Background())
	if _, err := app.Append(0, labels.FromStrings("__name__", "x", "a", "b"), 0, ts, 1.5, nil, nil, storage.AppendV2Options{
		Exemplars: []exemplar.Exemplar{{Labels: labels.FromStrings("trace_id", "t"), Value: 1, Ts: ts}},
	}); err != nil {
		t.Fatal(err)
	}
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
}

// again is an error that may be tried again: the wrapped type cannot be made
// outside its package but by a server's answer, so its zero value is used.
var again = remote.RecoverableError{}

func TestSendsOldestFirstAndTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{errs: []error{wrap{again}, wrap{again}, nil}}
		s := newSpool(DefaultConfig("http://x"), f, nil, nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		add(t, s, 1000)
		add(t, s, 2000)
		time.Sleep(time.Minute) // virtual time: every backoff has passed
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if len(f.got) != 2 || f.got[0].Timeseries[0].Samples[0].Timestamp != 1000 || f.got[1].Timeseries[0].Samples[0].Timestamp != 2000 {
			t.Fatalf("got %+v", f.got)
		}
		if len(f.got[0].Timeseries[0].Exemplars) != 1 {
			t.Error("the exemplar is lost")
		}
		if n := testutil.ToFloat64(s.sent); n != 2 {
			t.Errorf("%v samples counted as sent", n)
		}
	})
}

// wrap makes the text of the empty RecoverableError printable.
type wrap struct{ remote.RecoverableError }

func (wrap) Error() string   { return "server is away" }
func (w wrap) Unwrap() error { return w.RecoverableError }

func TestRefusedForGoodIsCountedAndDoesNotBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{errs: []error{errors.New("400 bad series")}}
		s := newSpool(DefaultConfig("http://x"), f, nil, nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		add(t, s, 1)
		synctest.Wait()
		add(t, s, 2)
		synctest.Wait()
		cancel()
		<-done
		if len(f.got) != 1 || testutil.ToFloat64(s.dropped.WithLabelValues("refused")) != 1 {
			t.Errorf("sent %d, refused %v", len(f.got), testutil.ToFloat64(s.dropped.WithLabelValues("refused")))
		}
	})
}

func TestFullDropsOldestAndCounts(t *testing.T) {
	c := DefaultConfig("http://x")
	f := &fake{}
	s := newSpool(c, f, nil, nil)
	add(t, s, 1)
	s.cfg.MaxBytes = s.bytes // room for one
	add(t, s, 2)
	if n := testutil.ToFloat64(s.dropped.WithLabelValues("full")); n != 1 {
		t.Fatalf("%v samples counted as dropped", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Run(ctx); err != nil { // stop flushes what is left
		t.Fatal(err)
	}
	if len(f.got) != 1 || f.got[0].Timeseries[0].Samples[0].Timestamp != 2 {
		t.Fatalf("got %+v", f.got)
	}
}

func TestHistogramsAndRollback(t *testing.T) {
	f := &fake{}
	s := newSpool(DefaultConfig("http://x"), f, nil, nil)
	app := s.AppenderV2(t.Context())
	h := &histogram.Histogram{Schema: 3, Count: 2, Sum: 3, PositiveSpans: []histogram.Span{{Offset: 0, Length: 1}}, PositiveBuckets: []int64{2}}
	if _, err := app.Append(0, labels.FromStrings("__name__", "h"), 0, 7, 0, h, nil, storage.AppendV2Options{}); err != nil {
		t.Fatal(err)
	}
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
	gone := s.AppenderV2(t.Context())
	if _, err := gone.Append(0, labels.FromStrings("__name__", "gone"), 0, 7, 1, nil, nil, storage.AppendV2Options{}); err != nil {
		t.Fatal(err)
	}
	if err := gone.Rollback(); err != nil {
		t.Fatal(err)
	}
	s.flush()
	if len(f.got) != 1 || len(f.got[0].Timeseries[0].Histograms) != 1 || f.got[0].Timeseries[0].Histograms[0].GetCountInt() != 2 {
		t.Fatalf("got %+v", f.got)
	}
}

func TestConfigIsValidated(t *testing.T) {
	for _, u := range []string{"", "x", "ftp://h", "http://"} {
		if _, err := New(DefaultConfig(u), nil, nil); model.CodeOf(err) != "server_url_invalid" {
			t.Errorf("%q: %v", u, err)
		}
	}
	c := DefaultConfig("http://h:1")
	c.MaxBytes = 0
	if _, err := New(c, nil, nil); model.CodeOf(err) != "spool_config_invalid" {
		t.Error("no room passes")
	}
	if _, err := New(DefaultConfig("http://h:1"), nil, nil); err != nil {
		t.Error(err)
	}
}
