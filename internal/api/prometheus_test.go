package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	remoteapi "github.com/prometheus/client_golang/exp/api/remote"
	"github.com/prometheus/common/route"
	promconfig "github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/labels"
	apiv1 "github.com/prometheus/prometheus/web/api/v1"
)

// TestRoutes is the list of everything that is served, so that a change of it
// is a change that somebody reads.
func TestRoutes(t *testing.T) {
	f := newFixture(t)
	var b strings.Builder
	for _, rt := range f.api.routes {
		scope := rt.scope
		if scope == ScopePublic {
			scope = "public"
		}
		fmt.Fprintf(&b, "%-6s %-9s %s\n", scope, rt.methods, rt.path)
	}
	golden(t, "routes.txt", b.String())
}

// TestPrometheusAPIIsComplete compares our table with what the API package
// registers, so that no endpoint is lost when the library moves on.
func TestPrometheusAPIIsComplete(t *testing.T) {
	seen := map[string]bool{}
	f := newFixture(t)
	for _, rt := range f.api.routes {
		for _, m := range strings.Split(rt.methods, ",") {
			seen[m+" "+strings.ReplaceAll(rt.path, "{name}", ":name")] = true
		}
	}
	d := f.api.deps
	p := apiv1.NewAPI(nil, d.Queryable, d.Appendable, d.Exemplars, nil, nil, nil, func() promconfig.Config { return promconfig.DefaultConfig }, nil, apiv1.GlobalURLOptions{}, func(h http.HandlerFunc) http.HandlerFunc { return h },
		d.Admin, "", true, true, 1, d.Log, nil, 0, 1, 0, false, noOrigin, nil, nil, nil, nil, nil, nil, nil, true, remoteapi.MessageTypes{}, true, false, false, 0, false, false, nil, nil, apiv1.OpenAPIOptions{}, nil, false, 0)
	var paths []string
	hit := false
	r := route.New().WithInstrumentation(func(path string, _ http.HandlerFunc) http.HandlerFunc {
		paths = append(paths, path)
		return func(http.ResponseWriter, *http.Request) { hit = true }
	})
	p.Register(r.WithPrefix("/api/v1"))
	if len(paths) < 40 {
		t.Fatalf("the library registers %d paths only", len(paths))
	}
	for _, path := range paths {
		for _, m := range []string{"GET", "POST", "PUT", "DELETE"} {
			hit = false
			r.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(m, "/api/v1"+path, nil))
			if hit && !seen[m+" /api/v1"+path] {
				t.Errorf("%s %s is not served", m, path)
			}
		}
	}
}

func TestPrometheusEndpointsAnswer(t *testing.T) {
	f := newFixture(t)
	now := time.Now()
	for i := range 10 {
		f.append(now.Add(-time.Duration(10-i)*time.Second), labels.FromStrings("__name__", "nv_inference_count", "job", "triton", "model", "resnet_mini"), float64(10*i))
	}
	span := fmt.Sprintf("&start=%d&end=%d&step=5", now.Unix()-60, now.Unix())
	for path, want := range map[string]string{
		"/api/v1/query?query=nv_inference_count":                  `"resultType":"vector"`,
		"/api/v1/query?query=1%2B1":                               `"2"`,
		"/api/v1/query_range?query=nv_inference_count" + span:     `"resultType":"matrix"`,
		"/api/v1/query_exemplars?query=nv_inference_count" + span: `"data":[]`,
		"/api/v1/series?match[]=nv_inference_count":               `"model":"resnet_mini"`,
		"/api/v1/labels":                                     `"model"`,
		"/api/v1/label/model/values":                         `"resnet_mini"`,
		"/api/v1/metadata":                                   `"data":{`,
		"/api/v1/targets":                                    `"activeTargets":[]`,
		"/api/v1/targets?state=active":                       `"droppedTargets":[]`,
		"/api/v1/targets/metadata":                           `"data":[]`,
		"/api/v1/scrape_pools":                               `"engines"`,
		"/api/v1/rules":                                      `"groups":[]`,
		"/api/v1/alerts":                                     `"alerts":[]`,
		"/api/v1/alertmanagers":                              `"activeAlertmanagers":[]`,
		"/api/v1/format_query?query=sum(a)by(b)":             `sum by (b) (a)`,
		"/api/v1/parse_query?query=sum(a)":                   `"aggregation"`,
		"/api/v1/status/config":                              `"yaml"`,
		"/api/v1/status/runtimeinfo":                         `"goroutineCount"`,
		"/api/v1/status/buildinfo":                           `"revision":"sightline-0.1.0"`,
		"/api/v1/status/flags":                               `"listen":"127.0.0.1:7070"`,
		"/api/v1/status/tsdb":                                `"headStats"`,
		"/api/v1/status/tsdb/blocks":                         `"blocks":[]`,
		"/api/v1/status/walreplay":                           `"current"`,
		"/api/v1/status/self_metrics":                        `sightline_http_requests_total`,
		"/api/v1/features":                                   `"remote_write_receiver":true`,
		"/api/v1/notifications":                              `"data":[]`,
		"/api/v1/openapi.yaml":                               `openapi: 3.1.0`,
		"/api/v1/search/metric_names?search=nv":              `nv_inference_count`,
		"/api/v1/search/label_names?search=mod":              `model`,
		"/api/v1/search/label_values?label=model&search=res": `resnet_mini`,
		"/-/healthy":                                         "Healthy", "/-/ready": "Ready", "/healthz": `"alive"`, "/readyz": `"ready":true`,
		"/metrics": "# TYPE sightline_http_requests_total counter",
	} {
		if a := f.get(path); a.status != 200 || !strings.Contains(string(a.body), want) {
			t.Errorf("%s: %d %.400s, want %s", path, a.status, a.body, want)
		}
	}
	if a := f.get("/api/v1/notifications/live"); a.status != http.StatusNoContent {
		t.Errorf("live notifications: %d", a.status)
	}
	if a := f.do(f.request("HEAD", "/api/v1/query?query=1", nil)); a.status != 200 || len(a.body) != 0 {
		t.Errorf("head: %d %s", a.status, a.body)
	}
	if a := f.get("/api/v1/no_such_thing"); a.status != 404 || a.env(t).Code != "path_unknown" {
		t.Errorf("unknown path: %d %s", a.status, a.body)
	}
	if a := f.do(f.request("DELETE", "/api/v1/query", nil)); a.status != 405 || a.env(t).Code != "method_not_allowed" || a.header.Get("Allow") != "GET, POST, HEAD, OPTIONS" {
		t.Errorf("wrong method: %d %s %s", a.status, a.header.Get("Allow"), a.body)
	}
	if a := f.get("/api/v1/targets/relabel_steps?scrapePool=engines&labels=%7B%7D"); a.status != 200 {
		t.Errorf("relabel steps: %d %s", a.status, a.body)
	}
}

func TestBuildInfoNamesTheLibrarysRelease(t *testing.T) {
	f := newFixture(t)
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	major, rest, _ := strings.Cut(prometheusVersion, ".")
	minor, patch, _ := strings.Cut(rest, ".")
	module := fmt.Sprintf("github.com/prometheus/prometheus v0.%s%02s.%s", major, minor, patch)
	if !strings.Contains(string(mod), module) {
		t.Errorf("go.mod does not have %s: clients would look for features of the wrong release", module)
	}
	var v struct{ Version, Branch string }
	if err := json.Unmarshal(f.get("/api/v1/status/buildinfo").env(t).Data, &v); err != nil || v.Version != prometheusVersion || v.Branch != "sightline" {
		t.Errorf("build information: %+v %v", v, err)
	}
}

func TestNothingSecretInStatus(t *testing.T) {
	f := newFixture(t, withTokens)
	for _, path := range []string{"flags", "config", "runtimeinfo", "buildinfo", "self_metrics"} {
		a := f.get("/api/v1/status/"+path, "Authorization", "Bearer "+readSecret)
		if a.status != 200 {
			t.Errorf("%s: %d", path, a.status)
		}
		wd, _ := os.Getwd()
		for _, s := range []string{"hunter2", readSecret, adminSecret, wd} {
			if strings.Contains(string(a.body), s) {
				t.Errorf("%s tells %q", path, s)
			}
		}
	}
}

func TestMalformedQuery(t *testing.T) {
	f := newFixture(t)
	for _, c := range []struct {
		path, code   string
		line, column int
		status       int
	}{
		{"/api/v1/query?query=" + url.QueryEscape("sum(rate(a[5m])"), "promql_syntax", 1, 16, 400},
		{"/api/v1/query?query=" + url.QueryEscape("a +\n  b ++"), "promql_syntax", 2, 7, 400},
		{"/api/v1/query?query=" + url.QueryEscape("a}"), "promql_syntax", 1, 2, 400},
		{"/api/v1/query?query=", "promql_syntax", 0, 0, 400},
		{"/api/v1/query_range?query=" + url.QueryEscape("a{") + "&start=1&end=2&step=1", "promql_syntax", 1, 3, 400},
		{"/api/v1/query_range?query=a&start=1&end=200000&step=1", "too_many_points", 0, 0, 400},
		{"/api/v1/query_range?query=a&start=x&end=2&step=1", "parameter_invalid", 0, 0, 400},
		{"/api/v1/query?query=a&time=yesterday", "parameter_invalid", 0, 0, 400},
		{"/api/v1/series", "parameter_invalid", 0, 0, 400},
		{"/api/v1/format_query?query=" + url.QueryEscape("sum("), "promql_syntax", 1, 5, 400},
		{"/api/v1/query?query=" + url.QueryEscape(`label_replace(vector(1),"x","$1","y","(")`), "query_failed", 0, 0, 422},
	} {
		for _, enc := range []string{"identity", "gzip"} {
			a := f.get(c.path, "Accept-Encoding", enc)
			e := a.env(t)
			var got position
			if e.Position != nil {
				got = *e.Position
			}
			if a.status != c.status || e.Code != c.code || got != (position{c.line, c.column}) || e.Status != "error" || e.ErrorType == "" || e.Error == "" {
				t.Errorf("%s: %d %s, want %d %s at %d:%d", c.path, a.status, a.body, c.status, c.code, c.line, c.column)
			}
		}
	}
}

func TestExplainKnowsEveryErrorType(t *testing.T) {
	for typ, want := range map[string]string{
		"timeout": "query_timeout", "canceled": "query_cancelled", "execution": "query_failed", "bad_data": "parameter_invalid", "internal": "internal",
		"unavailable": "unavailable", "not_found": "not_found", "not_acceptable": "not_acceptable", "": "internal",
	} {
		if got, _, _ := explain(typ, "something"); got != want {
			t.Errorf("%q: %q, want %q", typ, got, want)
		}
	}
	if got, _, _ := explain("execution", "query processing would load too many samples into memory in query execution"); got != "query_too_many_samples" {
		t.Error(got)
	}
}

func TestAdmin(t *testing.T) {
	f := newFixture(t, withTokens)
	f.append(time.Now(), labels.FromStrings("__name__", "doomed"), 1)
	admin := []string{"Authorization", "Bearer " + adminSecret}
	if a := f.post("/api/v1/admin/tsdb/snapshot", "", admin...); a.status != 200 {
		t.Errorf("snapshot: %d %s", a.status, a.body)
	}
	if dirs, err := os.ReadDir(f.api.cfg.DataDir + "/snapshots"); err != nil || len(dirs) != 1 {
		t.Errorf("no snapshot on disk: %v %v", dirs, err)
	}
	if a := f.post("/api/v1/admin/tsdb/delete_series?match[]=doomed", "", admin...); a.status != 204 {
		t.Errorf("delete: %d %s", a.status, a.body)
	}
	if a := f.get("/api/v1/query?query=doomed", "Authorization", "Bearer "+readSecret); !strings.Contains(string(a.body), `"result":[]`) {
		t.Errorf("the series is still there: %s", a.body)
	}
	if a := f.get("/api/v1/scrape_pools/config?scrapePool=engines", admin...); a.status != 200 {
		t.Errorf("pool: %d %s", a.status, a.body)
	}
}

// TestPromtool lets a client that nobody here wrote ask.
func TestPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skipf("promtool is not installed (apt-get install prometheus): %v", err)
	}
	f := newFixture(t)
	now := time.Now().Truncate(time.Second)
	for i := range 60 {
		f.append(now.Add(-time.Duration(60-i)*time.Second), labels.FromStrings("__name__", "vllm:num_requests_running", "model_name", "tiny-chat"), float64(i))
	}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(promtool, args...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	end := fmt.Sprint(now.Unix())
	start := fmt.Sprint(now.Unix() - 60)
	if got := run("query", "instant", "--time="+end, f.srv.URL, "vllm:num_requests_running"); !strings.Contains(got, `vllm:num_requests_running{model_name="tiny-chat"} => 59 @[`+end) {
		t.Errorf("instant: %s", got)
	}
	got := run("query", "range", "--start="+start, "--end="+end, "--step=20s", f.srv.URL, "max_over_time(vllm:num_requests_running[1m])")
	for _, want := range []string{"0 @[" + start, "20 @[", "40 @[", "59 @[" + end} {
		if !strings.Contains(got, want) {
			t.Errorf("range lacks %s: %s", want, got)
		}
	}
	if got := run("query", "series", "--match=vllm:num_requests_running", f.srv.URL); !strings.Contains(got, `model_name="tiny-chat"`) {
		t.Errorf("series: %s", got)
	}
	if got := run("query", "labels", f.srv.URL, "model_name"); !strings.Contains(got, "tiny-chat") {
		t.Errorf("labels: %s", got)
	}
	check := exec.Command(promtool, "check", "metrics")
	text := f.get("/metrics", "Accept", "text/plain").body
	var own []string
	for _, line := range strings.Split(string(text), "\n") {
		if strings.Contains(line, "sightline_") {
			own = append(own, line)
		}
	}
	if len(own) < 10 {
		t.Fatalf("few own metrics: %v", own)
	}
	check.Stdin = strings.NewReader(strings.Join(own, "\n") + "\n")
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

// TestGrafanaShapedRequests asks as Grafana's data source does: its health
// check, forms by POST, times with fractions, label values with selectors.
func TestGrafanaShapedRequests(t *testing.T) {
	f := newFixture(t)
	now := time.Now()
	f.append(now, labels.FromStrings("__name__", "up", "job", "triton", "instance", "demo/vision-0"), 1)
	from, to := fmt.Sprintf("%.3f", float64(now.UnixMilli()-60_000)/1e3), fmt.Sprintf("%.3f", float64(now.UnixMilli()+1000)/1e3)
	for _, c := range []struct {
		path string
		form url.Values
		want string
	}{
		{"/api/v1/query", url.Values{"query": {"1+1"}, "time": {"4"}}, `"result":[4,"2"]`},
		{"/api/v1/query_range", url.Values{"query": {"up{}"}, "start": {from}, "end": {to}, "step": {"15"}}, `"job":"triton"`},
		{"/api/v1/query_exemplars", url.Values{"query": {"up"}, "start": {from}, "end": {to}}, `"data":[]`},
		{"/api/v1/labels", url.Values{"match[]": {"up"}, "start": {from}, "end": {to}, "limit": {"40000"}}, `"instance"`},
		{"/api/v1/series", url.Values{"match[]": {`{job=~"tri.*"}`}, "start": {from}, "end": {to}}, `"instance":"demo/vision-0"`},
	} {
		if a := f.form(c.path, c.form); a.status != 200 || !strings.Contains(string(a.body), c.want) {
			t.Errorf("POST %s %v: %d %s", c.path, c.form, a.status, a.body)
		}
	}
	for path, want := range map[string]string{
		"/api/v1/label/job/values?match[]=up&start=" + from + "&end=" + to: `"triton"`,
		"/api/v1/label/__name__/values?limit=40000":                        `"up"`,
		"/api/v1/metadata?limit=10&limit_per_metric=1":                     `"data":{`,
		"/api/v1/rules?type=record":                                        `"groups":[]`,
	} {
		if a := f.get(path); a.status != 200 || !strings.Contains(string(a.body), want) {
			t.Errorf("GET %s: %d %s", path, a.status, a.body)
		}
	}
}
