package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"sightline/internal/app/config"
	"sightline/internal/model"
)

// front is the one HTTP listener. Its handler is replaced once the parts behind
// it are there, so that probes answer during a long replay.
type front struct {
	ln      net.Listener
	srv     *http.Server
	handler atomic.Pointer[http.Handler]
	secure  bool
}

// listen binds the address first: a taken port is told before anything else is
// touched.
func listen(c config.Config) (*front, error) {
	f := &front{}
	var tc *tls.Config
	if c.TLS.CertFile != "" {
		f.secure = true
		// The pair is loaded now so that a wrong file stops the start, and again
		// for each connection so that a renewed certificate needs no restart.
		if _, err := tls.LoadX509KeyPair(c.TLS.CertFile, c.TLS.KeyFile); err != nil {
			return nil, &model.Problem{Code: "tls_invalid", Text: "certificate and key cannot be used", Hint: "check tls.cert_file and tls.key_file", Err: err}
		}
		tc = &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(c.TLS.CertFile, c.TLS.KeyFile)
			return &pair, err
		}}
	}
	ln, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, listenProblem(c.Listen, err)
	}
	if tc != nil {
		ln = tls.NewListener(ln, tc)
	}
	f.ln = ln
	f.srv = &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			(*f.handler.Load()).ServeHTTP(w, r)
		}),
		// A slow header or an idle connection must not hold a place for ever.
		// There is no write timeout: a long query has its own.
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
	return f, nil
}

func (f *front) serve(h http.Handler) { f.handler.Store(&h) }

func (f *front) address() string { return f.ln.Addr().String() }

func (f *front) url() string {
	if f.secure {
		return "https://" + f.address()
	}
	return "http://" + f.address()
}

// run serves until shutdown or close.
func (f *front) run() error {
	err := f.srv.Serve(f.ln)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// shutdown lets requests in flight finish for a while, then cuts them: what was
// not answered was not acknowledged.
func (f *front) shutdown() error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if err := f.srv.Shutdown(ctx); err != nil {
		return f.srv.Close()
	}
	return nil
}

func (f *front) close() { _ = f.srv.Close(); _ = f.ln.Close() }

func printStart(w io.Writer, f *front, r Role) {
	fmt.Fprintf(w, "\n  Sightline %s (%s): open %s in a browser, stop with Ctrl-C\n\n", Version, r, f.url())
}
