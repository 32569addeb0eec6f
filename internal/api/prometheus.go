package api

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/grafana/regexp"
	remoteapi "github.com/prometheus/client_golang/exp/api/remote"
	commonmodel "github.com/prometheus/common/model"
	"github.com/prometheus/common/route"
	promconfig "github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/features"
	"github.com/prometheus/prometheus/util/notifications"
	apiv1 "github.com/prometheus/prometheus/web/api/v1"

	"sightline/internal/health"
	"sightline/internal/model"
)

// prometheusVersion is the Prometheus release whose API this is (its module
// v0.316.0); clients detect features by it.
const prometheusVersion = "3.16.0"

// Limits of remote read, Prometheus' own defaults.
const (
	remoteReadSamples     = 5e7
	remoteReadConcurrency = 10
	remoteReadFrameBytes  = 1 << 20
	searchLimit           = 10_000
)

// noOrigin matches no origin: CORS is off.
var noOrigin = regexp.MustCompile(`[^\s\S]`)

// newPrometheus mounts the Prometheus HTTP API on its own router under
// /api/v1. The caller decides which of its paths can be reached, by whom.
func (a *API) newPrometheus() (http.Handler, error) {
	d := a.deps
	feats := features.NewRegistry()
	for _, f := range []string{
		"admin", "remote_write_receiver", "otlp_write_receiver", "search", "label_values_match", "query_warnings", "query_stats",
		"time_range_series", "time_range_labels", "exclude_alerts", "openapi_3.1", "openapi_3.2",
	} {
		feats.Enable(features.API, f)
	}
	for _, f := range apiv1.FuzzAlgorithms() {
		feats.Enable(features.API, "search_fuzz_alg_"+f)
	}
	feats.Disable(features.API, "lifecycle")
	feats.Disable(features.API, "query_cost")
	// The converter of delta metrics runs a goroutine that nothing can end, so it
	// stays off; OpenTelemetry SDKs send cumulative metrics unless told.
	feats.Disable(features.OTLPReceiver, "delta_conversion")

	conf := promconfig.DefaultConfig
	conf.OTLPConfig = promconfig.DefaultOTLPConfig
	conf.OTLPConfig.PromoteResourceAttributes = a.cfg.PromoteResourceAttributes
	conf.OTLPConfig.KeepIdentifyingResourceAttributes = true
	version := &apiv1.PrometheusVersion{
		Version: prometheusVersion, Revision: "sightline-" + a.cfg.Version, Branch: "sightline",
		BuildUser: "sightline", GoVersion: runtime.Version(),
	}
	p := apiv1.NewAPI(
		nil, d.Queryable, d.Appendable, d.Exemplars,
		func(context.Context) apiv1.ScrapePoolsRetriever { return d.Discovery },
		func(context.Context) apiv1.TargetRetriever { return d.Discovery },
		func(context.Context) apiv1.AlertmanagerRetriever { return noAlertmanagers{} },
		func() promconfig.Config { return conf },
		publicFlags(a.cfg.Flags),
		apiv1.GlobalURLOptions{ListenAddress: a.cfg.Listen, Host: a.cfg.Listen, Scheme: "http"},
		func(next http.HandlerFunc) http.HandlerFunc { return next },
		d.Admin, a.cfg.DataDir, true, true, searchLimit, d.Log,
		func(context.Context) apiv1.RulesRetriever { return d.Rules },
		remoteReadSamples, remoteReadConcurrency, remoteReadFrameBytes,
		false, noOrigin, a.runtimeInfo, version,
		a.notifications,
		// Nobody can subscribe: the console polls status.
		func() (<-chan notifications.Notification, func(), bool) { return nil, func() {}, false },
		d.Gatherer, d.Registerer, nil,
		true, remoteapi.MessageTypes{remoteapi.WriteV1MessageType, remoteapi.WriteV2MessageType},
		true, false, false,
		a.cfg.LookbackDelta,
		false, true, nil, feats,
		apiv1.OpenAPIOptions{Version: prometheusVersion, MaxSearchLimit: searchLimit},
		parser.NewParser(parser.Options{}), false, a.cfg.QueryTimeout,
	)
	if err := assign(&p.QueryEngine, d.Engine); err != nil {
		return nil, err
	}
	r := route.New()
	p.Register(r.WithPrefix("/api/v1"))
	return explained(r), nil
}

// assign puts v into dst when it has dst's type. The engine comes in untyped
// because the type's package stays behind metricstore.
func assign[T any](dst *T, v any) error {
	t, ok := v.(T)
	if !ok {
		return &model.Problem{Code: "engine_invalid", Text: fmt.Sprintf("the query engine is a %T, not a %T", v, dst), Hint: "give the store's engine"}
	}
	*dst = t
	return nil
}

// publicFlags copies flags without secrets.
func publicFlags(in map[string]string) map[string]string {
	out := make(map[string]string, len(in))
	for k, v := range in {
		l := strings.ToLower(k)
		for _, word := range []string{"token", "secret", "password", "passwd", "credential", "key", "auth"} {
			if v != "" && strings.Contains(l, word) {
				v = "<secret>"
			}
		}
		out[k] = v
	}
	return out
}

// runtimeInfo leaves out the working directory and the environment, which are
// nobody's business.
func (a *API) runtimeInfo() (apiv1.RuntimeInfo, error) {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	info := apiv1.RuntimeInfo{
		StartTime: a.started.UTC(), ServerTime: a.now().UTC(), Hostname: host,
		ReloadConfigSuccess: true, LastConfigTime: a.started.UTC(),
		GoroutineCount: runtime.NumGoroutine(), GOMAXPROCS: runtime.GOMAXPROCS(0), GOMEMLIMIT: debug.SetMemoryLimit(-1),
	}
	if a.cfg.Retention > 0 {
		info.StorageRetention = commonmodel.Duration(a.cfg.Retention.Round(time.Second)).String()
	}
	return info, nil
}

// notifications shows error conditions where Prometheus' clients look for them.
func (a *API) notifications() []notifications.Notification {
	out := []notifications.Notification{}
	for _, c := range a.deps.Health.Conditions() {
		if c.Severity == health.Error {
			out = append(out, notifications.Notification{Text: c.Text, Date: c.Since, Active: true})
		}
	}
	return out
}
