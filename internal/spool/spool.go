// Package spool holds what the agent has collected until the server has
// acknowledged it. This first form keeps packed remote write v2 requests in
// memory, bounded by bytes: it rides out a server that is away for a while, not
// a restart of the agent. What does not fit is dropped oldest first and counted.
package spool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/golang/snappy"
	remoteapi "github.com/prometheus/client_golang/exp/api/remote"
	"github.com/prometheus/client_golang/prometheus"
	config_util "github.com/prometheus/common/config"
	promcommon "github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/storage/remote"

	"sightline/internal/model"
)

// Config says where the spool sends and how much it may hold.
type Config struct {
	// URL is the server's base address, for example http://127.0.0.1:7070.
	URL string
	// Token is sent as a bearer token when it is not empty.
	Token string
	// Source names this agent to the server; it bounds series per source.
	Source string
	// MaxBytes bounds the packed requests that wait.
	MaxBytes int64
	// Timeout bounds one attempt to send.
	Timeout time.Duration
	// MinBackoff and MaxBackoff bound the wait between attempts.
	MinBackoff, MaxBackoff time.Duration
}

// DefaultConfig holds 64 MiB, tries for 10 s, and waits 100 ms to 10 s between
// attempts.
func DefaultConfig(serverURL string) Config {
	return Config{URL: serverURL, MaxBytes: 64 << 20, Timeout: 10 * time.Second, MinBackoff: 100 * time.Millisecond, MaxBackoff: 10 * time.Second}
}

// Validate checks c as a whole.
func (c Config) Validate() error {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return &model.Problem{Code: "server_url_invalid", Text: fmt.Sprintf("server address %q is no http or https URL", c.URL), Hint: "write http://HOST:7070"}
	}
	if c.MaxBytes <= 0 || c.Timeout <= 0 || c.MinBackoff <= 0 || c.MaxBackoff < c.MinBackoff {
		return &model.Problem{Code: "spool_config_invalid", Text: fmt.Sprintf("spool limits %+v make no sense", c), Hint: "use positive sizes and times"}
	}
	return nil
}

// Sender delivers one packed, compressed request. An error that is a
// remote.RecoverableError may be tried again; any other will fail for ever.
type Sender interface {
	Store(ctx context.Context, req []byte, attempt int) (remote.WriteResponseStats, error)
}

// packed is one request as it goes over the wire.
type packed struct {
	body    []byte
	samples int
}

// Spool takes samples (it is a storage.AppendableV2) and sends them oldest
// first from one goroutine that Run owns.
type Spool struct {
	cfg    Config
	sender Sender
	log    *slog.Logger

	mu    sync.Mutex
	queue []packed
	bytes int64
	wake  chan struct{}

	sent, dropped *prometheus.CounterVec
	waiting       prometheus.GaugeFunc
}

// New returns a spool that sends to cfg.URL by remote write v2.
func New(cfg Config, log *slog.Logger, reg prometheus.Registerer) (*Spool, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	u, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, err
	}
	u = u.JoinPath("/api/v1/write")
	hc := config_util.DefaultHTTPClientConfig
	hc.FollowRedirects = false
	if cfg.Token != "" {
		hc.Authorization = &config_util.Authorization{Type: "Bearer", Credentials: config_util.Secret(cfg.Token)}
	}
	headers := map[string]string{}
	if cfg.Source != "" {
		headers[http.CanonicalHeaderKey("X-Sightline-Source")] = cfg.Source
	}
	client, err := remote.NewWriteClient("sightline", &remote.ClientConfig{
		URL: &config_util.URL{URL: u}, Timeout: promcommon.Duration(cfg.Timeout), HTTPClientConfig: hc, Headers: headers,
		RetryOnRateLimit: true, WriteProtoMsg: remoteapi.WriteV2MessageType,
	})
	if err != nil {
		return nil, &model.Problem{Code: "server_url_invalid", Text: fmt.Sprintf("no client for %q", cfg.URL), Err: err}
	}
	return newSpool(cfg, client, log, reg), nil
}

func newSpool(cfg Config, sender Sender, log *slog.Logger, reg prometheus.Registerer) *Spool {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Spool{cfg: cfg, sender: sender, log: log, wake: make(chan struct{}, 1)}
	s.sent = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sightline_spool_samples_sent_total", Help: "Samples that the server has acknowledged."}, nil)
	s.dropped = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sightline_spool_samples_dropped_total", Help: "Samples that were given up, by reason."}, []string{"reason"})
	s.sent.WithLabelValues()
	for _, r := range []string{"full", "refused", "stopped"} {
		s.dropped.WithLabelValues(r)
	}
	s.waiting = prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sightline_spool_bytes", Help: "Packed bytes that wait for the server."}, func() float64 {
		s.mu.Lock()
		defer s.mu.Unlock()
		return float64(s.bytes)
	})
	if reg != nil {
		reg.MustRegister(s.sent, s.dropped, s.waiting)
	}
	return s
}

// push queues one request and drops the oldest ones that no longer fit.
func (s *Spool) push(p packed) {
	p.body = snappy.Encode(nil, p.body)
	s.mu.Lock()
	s.queue = append(s.queue, p)
	s.bytes += int64(len(p.body))
	lost := 0
	for s.bytes > s.cfg.MaxBytes && len(s.queue) > 0 {
		lost += s.queue[0].samples
		s.popLocked()
	}
	s.mu.Unlock()
	if lost > 0 {
		s.dropped.WithLabelValues("full").Add(float64(lost))
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *Spool) popLocked() {
	s.bytes -= int64(len(s.queue[0].body))
	s.queue[0] = packed{}
	s.queue = s.queue[1:]
}

func (s *Spool) head() (packed, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return packed{}, false
	}
	return s.queue[0], true
}

// done removes p if it still is the oldest: push may have dropped it meanwhile.
func (s *Spool) done(p packed) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 || &s.queue[0].body[0] != &p.body[0] {
		return false
	}
	s.popLocked()
	return true
}

// Run sends until ctx ends, then tries once more for what is left within the
// send timeout, so that an orderly stop loses nothing that the server can take.
func (s *Spool) Run(ctx context.Context) error {
	for {
		p, ok := s.head()
		if !ok {
			select {
			case <-ctx.Done():
				return nil
			case <-s.wake:
				continue
			}
		}
		if ctx.Err() != nil {
			s.flush()
			return nil
		}
		s.deliver(ctx, p)
	}
}

// deliver tries p until it is taken, refused for good, or ctx ends.
func (s *Spool) deliver(ctx context.Context, p packed) {
	backoff := s.cfg.MinBackoff
	for attempt := 0; ; attempt++ {
		_, err := s.sender.Store(ctx, p.body, attempt)
		if err == nil {
			if s.done(p) {
				s.sent.WithLabelValues().Add(float64(p.samples))
			}
			if attempt > 0 {
				s.log.Info("server takes samples again", "attempts", attempt+1)
			}
			return
		}
		if ctx.Err() != nil {
			return
		}
		var again remote.RecoverableError
		if !errors.As(err, &again) {
			if s.done(p) {
				s.dropped.WithLabelValues("refused").Add(float64(p.samples))
			}
			s.log.Error("server refused samples for good", "samples", p.samples, "err", err)
			return
		}
		if attempt == 0 {
			s.log.Warn("server does not take samples, they wait here", "err", err)
		}
		t := time.NewTimer(backoff)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		}
		if q, ok := s.head(); !ok || &q.body[0] != &p.body[0] {
			return // dropped meanwhile because the spool is full
		}
		backoff = min(2*backoff, s.cfg.MaxBackoff)
	}
}

// flush is the last attempt of an orderly stop.
func (s *Spool) flush() {
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.Timeout)
	defer cancel()
	for {
		p, ok := s.head()
		if !ok {
			return
		}
		if _, err := s.sender.Store(ctx, p.body, 0); err != nil {
			s.mu.Lock()
			lost := 0
			for _, q := range s.queue {
				lost += q.samples
			}
			s.mu.Unlock()
			s.dropped.WithLabelValues("stopped").Add(float64(lost))
			s.log.Error("stopped before the server took everything", "samples", lost, "err", err)
			return
		}
		s.done(p)
		s.sent.WithLabelValues().Add(float64(p.samples))
	}
}
