package loadgen

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"sync/atomic"
	"time"

	"sightline/internal/model"
)

// maxBody bounds an answer that is read whole.
const maxBody = 16 << 20

// newTransport keeps as many connections open as requests may be in flight, so
// that a request does not pay for a new one. It uses no proxy from the
// environment and asks for no compression.
func newTransport(c Config) *http.Transport {
	most := 1
	for _, p := range c.Vision {
		most = max(most, p.MaxInFlight)
	}
	for _, p := range c.Chat {
		most = max(most, p.MaxInFlight)
	}
	return &http.Transport{
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		MaxIdleConnsPerHost:   most,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   5 * time.Second,
		ResponseHeaderTimeout: 0, // the plan's timeout covers the whole request
		DisableCompression:    true,
		WriteBufferSize:       64 << 10,
		ReadBufferSize:        16 << 10,
	}
}

// moments notes when a request was written and when the first byte of its
// answer arrived. The transport's own goroutines set them, possibly after the
// request was given up.
type moments struct{ wrote, first atomic.Pointer[time.Time] }

// watch makes ctx report to m.
func (m *moments) watch(ctx context.Context) context.Context {
	note := func(p *atomic.Pointer[time.Time]) {
		now := time.Now()
		p.Store(&now)
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest:         func(httptrace.WroteRequestInfo) { note(&m.wrote) },
		GotFirstResponseByte: func() { note(&m.first) },
	})
}

// fill copies what was noted into r; what did not happen stays zero.
func (m *moments) fill(r *Record) {
	if p := m.wrote.Load(); p != nil {
		r.Wrote = *p
	}
	if p := m.first.Load(); p != nil {
		r.FirstByte = *p
	}
}

// newClient sends over t and returns redirects as they are: a load generator
// measures the server that it was pointed at.
func newClient(t http.RoundTripper) *http.Client {
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// fail ends a record with an error that was no HTTP answer.
func fail(ctx context.Context, r *Record, err error) {
	r.Done = time.Now()
	r.Message = shorten(err.Error(), 200)
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		r.Error = model.ErrorCancelled
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		r.Error = model.ErrorTimeout
	default:
		r.Error = model.ErrorUnavailable
	}
}

// refuse ends a record with an HTTP answer that is no success. It reads the
// body so that the connection can be used again.
func refuse(r *Record, res *http.Response) {
	body, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	r.Done = time.Now()
	r.BytesIn = int64(len(body))
	r.Error = Classify(res.StatusCode, string(body), false)
	r.Message = shorten(string(body), 200)
	if r.Error == "" { // a 1xx or 3xx that the client did not follow
		r.Error = model.ErrorInternal
	}
}

// countingReader counts the bytes of a body as they are read.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
