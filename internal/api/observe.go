package api

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sightline/internal/model"
)

// latencyBuckets are 1-2-5 from 1 ms to 300 s, the same for every latency
// histogram of the product.
var latencyBuckets = []float64{.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 20, 50, 100, 200, 300}

// observer measures requests by route.
type observer struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	refused  *prometheus.CounterVec
	panics   prometheus.Counter
	log      *slog.Logger

	mu     sync.Mutex
	logged map[string]time.Time // reason → when a refusal was last logged
}

// logEvery spaces the log lines of refusals for one reason: who is refused
// must not fill the log.
const logEvery = time.Minute

func newObserver(reg prometheus.Registerer, log *slog.Logger) *observer {
	o := &observer{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sightline_http_requests_total", Help: "HTTP requests answered, by route and status code."}, []string{"handler", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sightline_http_request_duration_seconds", Help: "Time to answer an HTTP request, by route.",
			Buckets: latencyBuckets, NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
		}, []string{"handler"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sightline_http_refused_requests_total", Help: "HTTP requests refused before routing, by reason."}, []string{"reason"}),
		panics:  prometheus.NewCounter(prometheus.CounterOpts{Name: "sightline_http_panics_total", Help: "Panics recovered in HTTP handlers."}),
		log:     log,
		logged:  map[string]time.Time{},
	}
	reg.MustRegister(o.requests, o.duration, o.refused, o.panics)
	return o
}

// wrap counts under the route's pattern, which bounds the label.
func (o *observer) wrap(handler string, next http.Handler) http.Handler {
	duration := o.duration.WithLabelValues(handler)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sw := &statusWriter{ResponseWriter: w}
		start := time.Now()
		defer func() {
			duration.Observe(time.Since(start).Seconds())
			code := sw.code
			if p := recover(); p != nil {
				o.requests.WithLabelValues(handler, "500").Inc()
				panic(p) // answered by recovered, further out
			}
			if code == 0 {
				code = http.StatusOK
			}
			o.requests.WithLabelValues(handler, strconv.Itoa(code)).Inc()
		}()
		next.ServeHTTP(sw, r)
	})
}

// refuse answers what never reached a route.
func (o *observer) refuse(w http.ResponseWriter, r *http.Request, status int, err error) {
	code := model.CodeOf(err)
	o.refused.WithLabelValues(code).Inc()
	if o.due(code, time.Now()) {
		o.log.Warn("request refused; more for this reason are only counted for a while", "code", code, "remote", r.RemoteAddr, "host", clip(r.Host, 200))
	}
	writeProblem(w, r, status, "refused", err)
}

// due reports whether a refusal for the reason may be logged at now.
func (o *observer) due(reason string, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now.Sub(o.logged[reason]) < logEvery {
		return false
	}
	o.logged[reason] = now
	return true
}

// recovered turns a panic of a handler into a 500 and keeps the process alive.
func (o *observer) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sw := &statusWriter{ResponseWriter: w}
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler {
				panic(p) // the standard way to cut a connection, not a fault
			}
			o.panics.Inc()
			o.log.Error("panic in handler", "path", clip(r.URL.Path, 200), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			if sw.code != 0 {
				panic(http.ErrAbortHandler) // half an answer is out: the client must see it as cut
			}
			writeProblem(sw, r, http.StatusInternalServerError, "internal", &model.Problem{
				Code: "panic", Text: "the server failed on this request", Hint: "see its log; please report it",
			})
		}()
		next.ServeHTTP(sw, r)
	})
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}

// statusWriter remembers the status code.
type statusWriter struct {
	http.ResponseWriter
	code int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(code int) {
	if w.code == 0 && code >= 200 {
		w.code = code
	}
	w.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (w *statusWriter) Write(b []byte) (int, error) {
	if w.code == 0 {
		w.code = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Flush implements http.Flusher, which streamed answers ask for.
func (w *statusWriter) Flush() {
	if f, ok := w.ResponseWriter.(http.Flusher); ok {
		if w.code == 0 {
			w.code = http.StatusOK
		}
		f.Flush()
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
