// Package vision is an image classification server that really computes: a
// small convolutional network in fp32 behind the KServe v2 protocol over HTTP
// and gRPC, with dynamic batching, a model repository and metrics whose names
// and meaning are Triton's. Its arithmetic runs through an accel.Device, so that
// the card that it reports is busy exactly when it computes, and its memory is
// that card's. There is no sleep in place of work.
//
// Measurements: queue time ends when a batch is handed to an instance, after a
// stream of the device is free; compute times are taken by the instance around
// each step; request time from the arrival at the model to the final answer.
// None is computed from the others.
package vision

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"google.golang.org/grpc"

	"sightline/internal/demo/kservepb"
)

// Server is one engine process: three listeners and a repository of models.
type Server struct {
	cfg  Config
	repo *repository
	host *hostUse

	http, grpc, metrics net.Listener
	started             sync.Once
}

// New opens the listeners and the context on the card. Models are loaded by
// Run. An error is a model.Problem that says which setting or port is wrong.
func New(cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	dctx, err := openContext(cfg.Device, cfg.ContextBytes)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, repo: newRepository(dctx, cfg), host: newHostUse()}
	for _, l := range []struct {
		addr string
		to   *net.Listener
	}{{cfg.ListenHTTP, &s.http}, {cfg.ListenGRPC, &s.grpc}, {cfg.ListenMetrics, &s.metrics}} {
		if *l.to, err = listen(l.addr, cfg.AnyPortIfTaken); err != nil {
			s.closeListeners()
			dctx.close()
			return nil, problem("port_in_use", fmt.Sprintf("the vision engine cannot listen on %s: %v", l.addr, err), "stop what uses the port or choose another one")
		}
	}
	return s, nil
}

// listen opens addr, or with fallback a free port of its host.
func listen(addr string, fallback bool) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err == nil || !fallback {
		return l, err
	}
	host, _, bad := net.SplitHostPort(addr)
	if bad != nil {
		return nil, err
	}
	return net.Listen("tcp", net.JoinHostPort(host, "0"))
}

func (s *Server) closeListeners() {
	for _, l := range []net.Listener{s.http, s.grpc, s.metrics} {
		if l != nil {
			_ = l.Close() // nothing was accepted yet
		}
	}
}

// HTTPAddr is the host:port of the protocol over HTTP.
func (s *Server) HTTPAddr() string { return s.http.Addr().String() }

// GRPCAddr is the host:port of the protocol over gRPC.
func (s *Server) GRPCAddr() string { return s.grpc.Addr().String() }

// MetricsAddr is the host:port of /metrics.
func (s *Server) MetricsAddr() string { return s.metrics.Addr().String() }

// Run loads the models and serves until ctx ends, then stops within the drain
// timeout plus a second: queued requests are still answered. It may be called
// once.
func (s *Server) Run(ctx context.Context) error {
	first := false
	s.started.Do(func() { first = true })
	if !first {
		return problem("vision_run_twice", "the vision engine was already run", "make a new one with New")
	}
	web := &http.Server{Handler: httpAPI(s.repo, s.cfg.MaxBodyBytes), ReadHeaderTimeout: 10 * time.Second}
	met := &http.Server{Handler: metricsAPI(s.repo, s.host, s.cfg), ReadHeaderTimeout: 10 * time.Second}
	rpc := grpc.NewServer(grpc.MaxRecvMsgSize(int(s.cfg.MaxBodyBytes)), grpc.StatsHandler(arrivals{}))
	kservepb.RegisterGRPCInferenceServiceServer(rpc, &grpcAPI{repo: s.repo})

	failed := make(chan error, 3)
	var wg sync.WaitGroup
	serve := func(what string, f func() error) {
		wg.Go(func() {
			if err := f(); err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, grpc.ErrServerStopped) {
				failed <- fmt.Errorf("vision %s: %w", what, err)
			}
		})
	}
	serve("http", func() error { return web.Serve(s.http) })
	serve("metrics", func() error { return met.Serve(s.metrics) })
	serve("grpc", func() error { return rpc.Serve(s.grpc) })

	var err error
	for _, m := range s.cfg.Models {
		if f := s.repo.load(m.Name); f != nil {
			s.cfg.Log.Error("model did not load", "model", m.Name, "error", f.text) // the server serves the rest, as Triton does with --exit-on-error=false
		}
	}
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	s.stop(web, met, rpc)
	wg.Wait()
	s.repo.stopAll()
	return err
}

// stop lets requests that are under way finish, up to the drain timeout.
func (s *Server) stop(web, met *http.Server, rpc *grpc.Server) {
	grace, cancel := context.WithTimeout(context.Background(), s.cfg.DrainTimeout)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		if web.Shutdown(grace) != nil {
			_ = web.Close() // the grace is over
		}
	})
	wg.Go(func() {
		done := make(chan struct{})
		go func() { rpc.GracefulStop(); close(done) }()
		select {
		case <-done:
		case <-grace.Done():
			rpc.Stop()
			<-done
		}
	})
	wg.Wait()
	_ = met.Close() // the metrics stay until the last request is counted
}

// Ready reports whether every model is loaded.
func (s *Server) Ready() bool { return s.repo.ready() }

// each applies f to the loaded versions that are meant: all models when model
// is empty, all versions when version is.
func (s *Server) each(model, ver string, f func(*version)) error {
	n := 0
	for _, v := range s.repo.all() {
		if (model == "" || v.model.Name == model) && (ver == "" || v.name == ver) {
			f(v)
			n++
		}
	}
	if n == 0 {
		return problem("vision_unknown_model", fmt.Sprintf("no version %q of model %q is loaded", ver, model), "see the repository index for what is")
	}
	return nil
}

// SetBatchWindow changes max_queue_delay while the engine runs.
func (s *Server) SetBatchWindow(model, ver string, d time.Duration) error {
	return s.each(model, ver, func(v *version) { v.batcher.setWindow(d) })
}

// SetVersionCost changes how much arithmetic an image takes: factor views of
// each image are evaluated and averaged, a fraction is a part of the rows.
func (s *Server) SetVersionCost(model, ver string, factor float64) error {
	if !(factor > 0 && factor <= 1000) {
		return problem("vision_bad_cost", fmt.Sprintf("cost factor %g", factor), "use a number above 0, at most 1000")
	}
	return s.each(model, ver, func(v *version) { v.setCost(factor) })
}

// SetInstances changes the instance count; an instance that executes finishes
// its batch first.
func (s *Server) SetInstances(model, ver string, n int) error {
	if n < 0 || n > 64 {
		return problem("vision_bad_instances", fmt.Sprintf("%d instances", n), "use 0 to 64")
	}
	return s.each(model, ver, func(v *version) { v.setInstances(n) })
}
