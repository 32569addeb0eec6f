package api

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sightline/internal/metricstore"
	"sightline/internal/model"
)

// limitURL refuses requests whose path and query are longer than n bytes.
func limitURL(n int, next http.Handler, refuse func(http.ResponseWriter, *http.Request, int, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l := len(r.RequestURI); l > n {
			refuse(w, r, http.StatusRequestURITooLong, &model.Problem{
				Code: "url_too_long", Text: fmt.Sprintf("the request's address has %d bytes, at most %d are read", l, n), Hint: "send the query in the body of a POST",
			})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// limitQueries looks at the text of queries before a parser does, whose time
// for some of them grows with the square of their length.
func limitQueries(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm() // what cannot be read is the next handler's to complain about
		for _, name := range []string{"query", "match[]"} {
			for _, text := range r.Form[name] {
				if err := metricstore.CheckQueryText(text); err != nil {
					writeProblem(w, r, http.StatusBadRequest, "bad_data", err)
					return
				}
			}
		}
		next.ServeHTTP(w, r)
	})
}

func writeTooLarge(w http.ResponseWriter, r *http.Request, n int64) {
	writeProblem(w, r, http.StatusRequestEntityTooLarge, "bad_data", &model.Problem{
		Code: "body_too_large", Text: fmt.Sprintf("the body is larger than %d bytes", n), Hint: "send smaller batches, or raise ingest.body_size_limit",
	})
}

// limitWrite bounds bodies of remote write and OTLP before and after
// decompression, so that a small body that unpacks to gigabytes is refused
// before it is unpacked: snappy says its length in front, gzip is unpacked here
// under the limit.
func limitWrite(n int64, bare string, m *room, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > n {
			writeTooLarge(w, r, n)
			return
		}
		body := http.MaxBytesReader(w, &hurriedBody{r.Body, hurry(w, writePatience)}, n)
		encoding := r.Header.Get("Content-Encoding")
		if encoding == "" {
			encoding = bare
		}
		var need int64
		switch encoding {
		case "gzip":
			plain, err := gunzip(body, n)
			if errors.Is(err, errTooLarge) {
				writeTooLarge(w, r, n)
				return
			}
			if err != nil {
				writeProblem(w, r, http.StatusBadRequest, "bad_data", &model.Problem{Code: "body_invalid", Text: "the body is not gzip", Err: err})
				return
			}
			r.Header.Del("Content-Encoding")
			r.Header.Del("Content-Length")
			r.ContentLength, need = int64(len(plain)), int64(len(plain))
			r.Body = io.NopCloser(bytes.NewReader(plain))
		case "snappy":
			br := bufio.NewReader(body)
			head, _ := br.Peek(binary.MaxVarintLen64)
			size, used := binary.Uvarint(head)
			if used > 0 && size > uint64(n) {
				writeTooLarge(w, r, n)
				return
			}
			need = int64(size)
			r.Body = readCloser{br, body}
		default:
			r.Body = body
		}
		if encoding != "gzip" {
			// Read whole before it takes room: one that drips in must not hold any.
			b, err := io.ReadAll(r.Body)
			if err != nil {
				writeUnread(w, r, err)
				return
			}
			need = max(need, int64(len(b)))
			r.Body = io.NopCloser(bytes.NewReader(b))
		}
		leave, ok := m.enter(r.Context(), need)
		if !ok {
			m.refuse(w, r)
			return
		}
		defer leave()
		next.ServeHTTP(w, r)
	})
}

// writeUnread answers a body that did not arrive. Unless it was too large that
// is not the samples' fault, so the sender must not drop them.
func writeUnread(w http.ResponseWriter, r *http.Request, err error) {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		writeTooLarge(w, r, large.Limit)
		return
	}
	w.Header().Set("Connection", "close")
	writeProblem(w, r, http.StatusServiceUnavailable, "unavailable", &model.Problem{
		Code: "body_too_slow", Text: "the body did not arrive whole within " + writePatience.String(), Hint: "send it again, in smaller batches", Err: err,
	})
}

type readCloser struct {
	io.Reader
	io.Closer
}

var errTooLarge = errors.New("body too large")

func gunzip(r io.Reader, n int64) ([]byte, error) {
	zr, err := gzip.NewReader(r)
	if err != nil {
		return nil, tooLarge(err)
	}
	b, err := io.ReadAll(io.LimitReader(zr, n+1))
	if err != nil {
		return nil, tooLarge(err)
	}
	if int64(len(b)) > n {
		return nil, errTooLarge
	}
	return b, nil
}

func tooLarge(err error) error {
	var m *http.MaxBytesError
	if errors.As(err, &m) {
		return errTooLarge
	}
	return err
}

// gate lets a bounded number of queries run at once.
type gate struct {
	slots    chan struct{}
	wait     time.Duration
	refused  prometheus.Counter
	inFlight prometheus.Gauge
}

func newGate(n int, wait time.Duration, reg prometheus.Registerer) *gate {
	g := &gate{
		slots:    make(chan struct{}, n),
		wait:     wait,
		refused:  prometheus.NewCounter(prometheus.CounterOpts{Name: "sightline_http_queries_refused_total", Help: "Queries answered 503 because too many ran already."}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Name: "sightline_http_queries_in_flight", Help: "Queries that run now."}),
	}
	reg.MustRegister(g.refused, g.inFlight)
	return g
}

func (g *gate) enter(r *http.Request) bool {
	select {
	case g.slots <- struct{}{}:
		return true
	default:
	}
	if g.wait == 0 {
		return false
	}
	t := time.NewTimer(g.wait)
	defer t.Stop()
	select {
	case g.slots <- struct{}{}:
		return true
	case <-t.C:
	case <-r.Context().Done():
	}
	return false
}

func (g *gate) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.enter(r) {
			g.refused.Inc()
			retry := max(1, int(g.wait/time.Second))
			w.Header().Set("Retry-After", strconv.Itoa(retry))
			writeProblem(w, r, http.StatusServiceUnavailable, "unavailable", &model.Problem{
				Code: "too_many_queries", Text: fmt.Sprintf("%d queries run already", cap(g.slots)), Hint: "try again shortly, or raise query.concurrency",
			})
			return
		}
		g.inFlight.Inc()
		defer func() { g.inFlight.Dec(); <-g.slots }()
		next.ServeHTTP(w, r)
	})
}
