package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"sightline/internal/health"
	"sightline/internal/model"
	"sightline/internal/query"
)

func TestQuestionsAreParsed(t *testing.T) {
	f := newFixture(t)
	a := f.get("/api/v1/sightline/now?at=1767225600.5&window=3600&points=60&service=vision")
	if e := a.env(t); a.status != 200 || !strings.Contains(string(e.Data), `"request_rate":{"value":12.5}`) || !strings.Contains(string(e.Data), `"error_ratio":{"value":null}`) || len(e.Warnings) != 1 {
		t.Errorf("now: %d %s", a.status, a.body)
	}
	if r := f.canned.now; !r.At.Equal(time.UnixMilli(1767225600500)) || r.Window != time.Hour || r.Points != 60 || r.Filter.Service != "vision" {
		t.Errorf("now was asked %+v", r)
	}
	if a := f.get("/api/v1/sightline/now"); a.status != 200 || f.canned.now != (query.NowRequest{}) {
		t.Errorf("an empty question is not empty: %+v", f.canned.now)
	}
	a = f.get("/api/v1/sightline/series?signal=model:requests:rate&signal=gpu:busy:ratio&model=resnet_mini&version=2&instance=demo%2Fvision-0&node=n&gpu=GPU-1&from=2026-01-01T00:00:00Z&to=1767229200&step=15s&by=gpu")
	if a.status != 200 {
		t.Fatalf("series: %d %s", a.status, a.body)
	}
	r := f.canned.series
	if len(r.Signals) != 2 || r.Signals[1] != "gpu:busy:ratio" || r.By != query.ByGPU || r.Step != 15*time.Second || r.From.Unix() != 1767225600 || r.To.Unix() != 1767229200 ||
		r.Filter != (query.Filter{Model: "resnet_mini", Version: "2", Instance: "demo/vision-0", Node: "n", GPU: "GPU-1"}) {
		t.Errorf("series was asked %+v", r)
	}
	if a := f.get("/api/v1/sightline/series?signal=model:requests:rate"); a.status != 200 || f.canned.series.To.Sub(f.canned.series.From) != time.Hour || time.Since(f.canned.series.To) > time.Minute {
		t.Errorf("the default range: %+v", f.canned.series)
	}
	if a := f.get("/api/v1/sightline/hardware?at=5"); a.status != 200 || f.canned.hardware.At.Unix() != 5 {
		t.Errorf("hardware: %d %+v", a.status, f.canned.hardware)
	}
	if a := f.get("/api/v1/sightline/signals?service=chat&instance=x"); a.status != 200 || f.canned.signals.Filter != (query.Filter{Service: "chat", Instance: "x"}) {
		t.Errorf("signals: %d %+v", a.status, f.canned.signals)
	}
}

func TestBadQuestions(t *testing.T) {
	f := newFixture(t)
	long := strings.Repeat("x", 2000)
	for _, q := range []string{
		"now?at=tomorrow", "now?at=-5", "now?at=NaN", "now?at=Inf", "now?at=1e300", "now?at=1&at=2", "now?window=0", "now?window=-1", "now?window=10y", "now?window=NaN", "now?window=1e30",
		"now?points=0", "now?points=1001", "now?points=1.5", "now?widnow=60", "now?at=%zz", "now?service=%ff", "now?service=" + long, "now?service=a%00b",
		"series", "series?signal=", "series?signal=model:requests", "series?signal=up", "series?signal=Model:requests:rate", "series?signal=model:requests:rate%22%7D",
		"series?signal=model:requests:rate&by=color", "series?signal=model:requests:rate&step=0", "series?signal=model:requests:rate&from=1&to=1e11",
		"series?signal=model:requests:rate&from=100&to=50", "hardware?at=x", "signals?level=model",
		"series?" + strings.Repeat("signal=model:requests:rate&", 101) + "from=1&to=2",
	} {
		a := f.get("/api/v1/sightline/" + q)
		e := a.env(t)
		if a.status != 400 || e.ErrorType != "bad_data" || e.Code == "" || e.Code == "internal" || e.Hint == "" {
			t.Errorf("%.120s: %d %.300s", q, a.status, a.body)
		}
		if len(a.body) > 1000 {
			t.Errorf("%.50s: the answer echoes %d bytes", q, len(a.body))
		}
	}
	if a := f.get("/api/v1/sightline/series?signal=model:requests:rate&from=1&to=20001&step=1"); a.env(t).Code != "too_many_points" {
		t.Errorf("too many points: %s", a.body)
	}
}

func TestErrorsOfQuestions(t *testing.T) {
	f := newFixture(t)
	for _, c := range []struct {
		err        error
		status     int
		code, text string
	}{
		{&model.Problem{Code: "signal_unknown", Text: `signal "model:x:rate" is not in the catalogue`, Hint: "see signals"}, 400, "signal_unknown", `signal "model:x:rate" is not in the catalogue`},
		{&model.Problem{Code: "query_failed", Text: "the store failed", Err: errors.New("disk")}, 500, "query_failed", "the store failed: disk"},
		{&model.Problem{Code: "query_invalid", Text: "the query is not valid"}, 500, "query_invalid", "the query is not valid"},
		{&model.Problem{Code: "storage_reopening", Text: "reopening"}, 503, "storage_reopening", "reopening"},
		{&model.Problem{Code: "query_timeout", Text: "too long"}, 503, "query_timeout", "too long"},
		{&model.Problem{Code: "query_cancelled", Text: "gone"}, 499, "query_cancelled", "gone"},
		{&model.Problem{Code: "query_too_many_samples", Text: "too many"}, 422, "query_too_many_samples", "too many"},
		{context.DeadlineExceeded, 503, "query_timeout", "the answer took longer than 30s: context deadline exceeded"},
		{fmt.Errorf("series: %w", &model.Problem{Code: "signal_unknown", Text: "no such signal", Hint: "look"}), 400, "signal_unknown", "series: no such signal"},
		{errors.New("boom"), 500, "internal", "boom"},
	} {
		f.canned.err = c.err
		a := f.get("/api/v1/sightline/hardware")
		if e := a.env(t); a.status != c.status || e.Code != c.code || e.Error != c.text {
			t.Errorf("%v: %d %s", c.err, a.status, a.body)
		}
	}
}

func FuzzParseParameters(f *testing.F) {
	for _, s := range []string{
		"at=1&window=5m&points=3", "signal=model:requests:rate&from=1&to=2&step=1", "signal=a&signal=b&by=gpu", "at=1e18&window=9e99", "from=2026-01-01T00:00:00Z&to=0", "window=292y", "step=1ms&from=1&to=9e10&signal=gpu:busy:ratio",
	} {
		f.Add(s)
	}
	now := time.Unix(1767225600, 0)
	f.Fuzz(func(t *testing.T, s string) {
		v, err := url.ParseQuery(s)
		if err != nil {
			return
		}
		check := func(err error) {
			if err != nil && model.CodeOf(err) == "internal" {
				t.Errorf("%q: an error without code: %v", s, err)
			}
		}
		n, err := parseNow(v)
		check(err)
		if err == nil && (n.Window < 0 || n.Window > maxWindow || n.Points < 0 || n.Points > maxSparkline) {
			t.Errorf("%q: %+v", s, n)
		}
		r, err := parseSeries(v, now)
		check(err)
		if err == nil {
			if len(r.Signals) == 0 || r.To.Before(r.From) || r.To.Sub(r.From) > maxWindow || r.Step < 0 {
				t.Errorf("%q: %+v", s, r)
			}
			if r.Step > 0 && r.To.Sub(r.From)/r.Step >= maxPoints {
				t.Errorf("%q: too many points pass", s)
			}
		}
		_, err = parseHardware(v)
		check(err)
		_, err = parseSignals(v)
		check(err)
	})
}

func TestStatus(t *testing.T) {
	seconds, samples := 0.25, int64(120)
	clock := time.UnixMilli(1767225600250)
	f := newFixture(t, func(c *Config, d *Deps) {
		c.Role = "demo"
		d.Now = func() time.Time { return clock }
		d.Targets = func() []TargetStatus {
			return []TargetStatus{{ID: "t", Service: "vision", Health: "down", Error: &TargetError{Code: "connection_refused", Text: "refused"}, LastScrape: Moment{clock}, LastDurationSeconds: &seconds, Samples: &samples}, {ID: "u", Health: "unknown"}}
		}
		d.RuleSet = func() RulesStatus {
			return RulesStatus{IntervalSeconds: 5, Groups: []RuleGroup{{Name: "candidates", Rules: 3, LastEvaluation: Moment{clock}}}}
		}
		d.Storage = func() StorageStatus { return StorageStatus{Dir: "/data", Series: 7, Oldest: Moment{clock}} }
		d.Ingest = func() IngestStatus {
			return IngestStatus{Sources: []IngestSource{{Name: "agent", Series: 1, Limit: 2, Refused: 3, Label: "request_id"}}, Dropped: map[string]float64{"future": 4}}
		}
	})
	f.health.SetPart("store", health.Ready, "")
	f.health.Set(health.Condition{Code: "disk_low", Severity: health.Error, Subject: "/data", Text: "little room"})
	clock = clock.Add(90 * time.Second)
	a := f.get("/api/v1/sightline/status")
	var got map[string]any
	if err := json.Unmarshal(a.env(t).Data, &got); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"version", "go_version", "started", "uptime_seconds", "role", "ready", "parts", "conditions", "targets", "rules", "storage", "ingest"} {
		if _, ok := got[k]; !ok {
			t.Errorf("status lacks %s", k)
		}
	}
	for _, want := range []string{
		`"started":1767225600.25`, `"uptime_seconds":90`, `"role":"demo"`, `"ready":true`, `"code":"disk_low"`, `"last_duration_seconds":0.25`, `"samples":120`, `"samples":null`,
		`"last_scrape":null`, `"code":"connection_refused"`, `"newest":null`, `"oldest":1767225690.25`, `"quarantined":[]`, `"label":"request_id"`, `"dropped":{"future":4}`, `"dialects":[]`,
	} {
		if !strings.Contains(string(a.body), want) {
			t.Errorf("status lacks %s: %s", want, a.body)
		}
	}
	if a := f.get("/api/v1/notifications"); !strings.Contains(string(a.body), "little room") {
		t.Errorf("the condition is no notification: %s", a.body)
	}
	if a := f.get("/api/v1/sightline/config"); a.status != 200 || !strings.HasPrefix(a.header.Get("Content-Type"), "application/yaml") || !strings.Contains(string(a.body), "<secret>") {
		t.Errorf("config: %d %s", a.status, a.body)
	}
}

func TestEmptyStatusHasLists(t *testing.T) {
	f := newFixture(t)
	a := f.get("/api/v1/sightline/status")
	for _, want := range []string{`"targets":[]`, `"groups":[]`, `"sources":[]`, `"dropped":{}`, `"parts":[]`, `"conditions":[]`} {
		if !strings.Contains(string(a.body), want) {
			t.Errorf("status lacks %s: %s", want, a.body)
		}
	}
}

func TestReadiness(t *testing.T) {
	f := newFixture(t)
	f.health.SetPart("ruler", health.Starting, "")
	for path, status := range map[string]int{"/readyz": 503, "/-/ready": 503, "/healthz": 200, "/-/healthy": 200} {
		if a := f.get(path); a.status != status {
			t.Errorf("%s while starting: %d", path, a.status)
		}
	}
	f.health.SetPart("ruler", health.Degraded, "one rule fails")
	for _, path := range []string{"/readyz", "/-/ready"} {
		if a := f.get(path); a.status != 200 {
			t.Errorf("%s while degraded: %d", path, a.status)
		}
	}
	h := Starting(f.health)
	for path, status := range map[string]int{"/healthz": 200, "/readyz": 503, "/api/v1/query": 503, "/": 503} {
		w := record(h, http.MethodGet, path)
		if w.Code != status {
			t.Errorf("%s before the start: %d", path, w.Code)
		}
	}
}
