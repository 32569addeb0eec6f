package chat

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"sightline/internal/demo/chat/engine"
	"sightline/internal/demo/chat/vllmstats"
)

// clientGone is the status that is counted when nobody is left to read one.
const clientGone = 499

// writeTimeout bounds how long one chunk may wait for a client that does not read.
const writeTimeout = 30 * time.Second

// job is one client request under way.
type job struct {
	*call
	s       *Server
	id      string
	created int64
	prompt  int // tokens of all prompts
	results []*engine.Result
	texts   []string
	tokens  int // output tokens so far
	open    int // choices without an end

	firstAt, lastAt time.Time
	slowest         *engine.Result // the choice that ended last
}

// complete serves both completion APIs.
func (s *Server) complete(w http.ResponseWriter, r *http.Request, chat bool) {
	arrival := time.Now()
	s.inFlight.Add(1)
	defer s.inFlight.Add(-1)
	f := isJSON(r)
	var c *call
	if f == nil {
		c, f = s.read(r.Body, chat, arrival)
	}
	if f != nil {
		f.write(w)
		return
	}
	// ReadTimeout was for the body; an answer may take longer.
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Time{})

	streams, err := s.engine.Submit(r.Context(), c.sequences()...)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	j := &job{call: c, s: s, id: requestID(r, chat, rand.Uint64()), created: time.Now().Unix(), open: len(streams)}
	j.results, j.texts = make([]*engine.Result, len(streams)), make([]string, len(streams))
	for _, p := range c.prompts {
		j.prompt += len(p)
	}
	events, stop := merge(streams)
	defer func() {
		if j.open > 0 {
			for _, st := range streams {
				st.Abort()
			}
		}
		stop()
		if j.open == 0 {
			j.record()
		}
	}()
	if c.stream {
		j.sendStream(w, rc, r.Context(), events)
	} else {
		j.sendWhole(w, r.Context(), events)
	}
}

// refuse answers for an engine that did not take the request.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, engine.ErrQueueFull):
		s.stats.Reject(vllmstats.RejectedRequests)
	case errors.Is(err, engine.ErrQueuedTokens):
		s.stats.Reject(vllmstats.RejectedTokens)
	case r.Context().Err() != nil:
		w.WriteHeader(clientGone)
		return
	}
	s.explain(err).write(w)
}

// explain translates an engine error and logs those that an operator must see.
func (s *Server) explain(err error) *failure {
	if errors.Is(err, engine.ErrDead) || errors.Is(err, engine.ErrCacheTooSmall) {
		s.cfg.Log.Error("chat engine failed a request", "error", err)
	}
	return ofEngine(err)
}

// event is an engine event of one choice.
type event struct {
	index int
	engine.Event
}

// merge joins the events of all choices. stop ends the joining.
func merge(streams []*engine.Stream) (events <-chan event, stop func()) {
	out, quit := make(chan event), make(chan struct{})
	var wg sync.WaitGroup
	for i, st := range streams {
		wg.Go(func() {
			for {
				select {
				case e := <-st.Events:
					select {
					case out <- event{i, e}:
					case <-quit:
						return
					}
					if e.Final != nil {
						return
					}
				case <-quit:
					return
				}
			}
		})
	}
	return out, sync.OnceFunc(func() { close(quit); wg.Wait() })
}

// take books an event on the job.
func (j *job) take(e event) {
	now := time.Now()
	if e.Final == nil || e.Final.Tokens > 0 {
		if j.firstAt.IsZero() {
			j.firstAt = now
		}
		j.lastAt = now
	}
	j.texts[e.index] += e.Text
	if e.Final == nil {
		j.tokens++
		return
	}
	j.results[e.index] = e.Final
	j.slowest = e.Final
	j.open--
	if j.open == 0 {
		j.tokens = 0
		for _, r := range j.results {
			j.tokens += r.Tokens
		}
	} else {
		j.tokens++
	}
}

// record tells the metrics about the request as a whole.
func (j *job) record() {
	longest := 0
	for _, r := range j.results {
		longest = max(longest, r.Tokens)
	}
	j.s.stats.Request(len(j.results), longest)
}

// failed is the first choice's failure, nil when all ended well.
func (j *job) failed() *failure {
	for _, r := range j.results {
		if r != nil && r.Err != nil {
			return j.s.explain(r.Err)
		}
	}
	return nil
}

func (j *job) sendWhole(w http.ResponseWriter, ctx context.Context, events <-chan event) {
	for j.open > 0 {
		select {
		case e := <-events:
			j.take(e)
		case <-ctx.Done():
			w.WriteHeader(clientGone)
			return
		}
	}
	if f := j.failed(); f != nil {
		f.write(w)
		return
	}
	answer(w, j.response())
}

// sendStream writes one chunk per event and flushes when no further event is
// ready. A failure after the start is a data line: the status has been sent.
func (j *job) sendStream(w http.ResponseWriter, rc *http.ResponseController, ctx context.Context, events <-chan event) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	if rc.Flush() != nil {
		return
	}
	line := func(v any) error {
		data, ok := v.([]byte)
		if !ok {
			var err error
			if data, err = json.Marshal(v); err != nil {
				return err
			}
		}
		_ = rc.SetWriteDeadline(time.Now().Add(writeTimeout))
		if _, err := w.Write(append(append([]byte("data: "), data...), "\n\n"...)); err != nil {
			return err
		}
		return rc.Flush()
	}
	opened := make([]bool, len(j.results))
	for j.open > 0 {
		select {
		case <-ctx.Done():
			return
		case e := <-events:
			j.take(e)
			if e.Final != nil && e.Final.Err != nil {
				// The rest of the choices has no reader any more.
				if line(j.s.explain(e.Final.Err).body()) == nil {
					_ = line([]byte("[DONE]"))
				}
				return
			}
			if j.chat && !opened[e.index] {
				opened[e.index] = true
				if line(j.roleChunk(e.index)) != nil {
					return
				}
			}
			if e.Text == "" && e.Final == nil && !j.continuous {
				continue // kept back as the possible start of a stop text
			}
			if line(j.chunk(e)) != nil {
				return
			}
		}
	}
	if j.usage || j.timings {
		if line(j.lastChunk()) != nil {
			return
		}
	}
	_ = line([]byte("[DONE]"))
}
