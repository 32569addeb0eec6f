package api

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"sightline/internal/model"
)

// How long a client may take. Who sends a byte a second must not hold what
// others wait for: a place among the queries, a buffer, a connection.
const (
	formPatience  = 10 * time.Second
	writePatience = time.Minute
	readPatience  = 30 * time.Second
	// slowestReader is the pace in bytes per second below which a client is
	// taken to have stopped reading.
	slowestReader = 64 << 10
)

// received reads a small body whole before anything else happens, at most n
// bytes within the patience.
func received(n int64, patience time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > n {
			writeTooLarge(w, r, n)
			return
		}
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		done := hurry(w, patience)
		b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, n))
		done()
		var large *http.MaxBytesError
		switch {
		case errors.As(err, &large):
			writeTooLarge(w, r, n)
			return
		case err != nil:
			p := &model.Problem{Code: "body_invalid", Text: "the body ended early", Hint: "send it whole", Err: err}
			status := http.StatusBadRequest
			if errors.Is(err, os.ErrDeadlineExceeded) {
				p.Code, p.Text, p.Hint = "body_too_slow", "the body did not arrive within "+patience.String(), "send it at once"
				status = http.StatusRequestTimeout
			}
			w.Header().Set("Connection", "close")
			writeProblem(w, r, status, "bad_data", p)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(b))
		next.ServeHTTP(w, r)
	})
}

// hurry gives the client until the patience ends to send its body; call done
// when it is there, or the connection is cut under a long answer.
func hurry(w http.ResponseWriter, patience time.Duration) (done func()) {
	c := http.NewResponseController(w)
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return func() {} // a recorder in a test has no connection
	}
	return func() { _ = c.SetReadDeadline(time.Time{}) }
}

// hurriedBody ends the hurry when the body does.
type hurriedBody struct {
	io.ReadCloser
	done func()
}

// Read implements io.Reader.
func (b *hurriedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.done()
	}
	return n, err
}

// Close implements io.Closer.
func (b *hurriedBody) Close() error {
	b.done()
	return b.ReadCloser.Close()
}

// paced cuts off a client that does not read its answer.
func paced(patience time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := &pacedWriter{ResponseWriter: w, control: http.NewResponseController(w), patience: patience}
		next.ServeHTTP(p, r)
		if p.set {
			// The connection may serve another request long after this one.
			_ = p.control.SetWriteDeadline(time.Time{})
		}
	})
}

type pacedWriter struct {
	http.ResponseWriter
	control  *http.ResponseController
	patience time.Duration
	set      bool
}

// Write implements http.ResponseWriter.
func (p *pacedWriter) Write(b []byte) (int, error) {
	d := p.patience + time.Duration(len(b)/slowestReader)*time.Second
	p.set = p.control.SetWriteDeadline(time.Now().Add(d)) == nil
	return p.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (p *pacedWriter) Flush() { _ = p.control.Flush() } // a writer without is not streamed

// Unwrap lets http.ResponseController reach the connection.
func (p *pacedWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }
