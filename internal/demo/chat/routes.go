package chat

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"time"

	"sightline/internal/demo/chat/tinylm"
)

// Version is what /version answers: the line of vLLM whose API and metrics this
// server follows, marked as ours.
const Version = "0.32.0+sightline"

// uncounted are the paths that the instrumentation in front of vLLM leaves out.
var uncounted = map[string]bool{"/metrics": true, "/health": true, "/load": true, "/ping": true, "/version": true}

type route struct {
	methods string // "GET", "POST" or "GET POST"
	serve   http.HandlerFunc
}

func (s *Server) routes() http.Handler {
	table := map[string]route{
		"/v1/chat/completions": {"POST", func(w http.ResponseWriter, r *http.Request) { s.complete(w, r, true) }},
		"/v1/completions":      {"POST", func(w http.ResponseWriter, r *http.Request) { s.complete(w, r, false) }},
		"/v1/models":           {"GET", s.models},
		"/tokenize":            {"POST", s.tokenize},
		"/health":              {"GET", s.health},
		"/ping":                {"GET POST", s.health},
		"/version":             {"GET", func(w http.ResponseWriter, _ *http.Request) { answer(w, map[string]string{"version": Version}) }},
		"/load": {"GET", func(w http.ResponseWriter, _ *http.Request) {
			answer(w, map[string]int64{"server_load": s.inFlight.Load()})
		}},
		"/metrics": {"GET", s.stats.ServeHTTP},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		path := r.URL.Path
		rt, known := table[path]
		cw := &counted{ResponseWriter: w, code: http.StatusOK}
		switch {
		case !known:
			path = "none"
			status(http.StatusNotFound).write(cw)
		case !allows(rt.methods, r.Method):
			cw.Header().Set("Allow", rt.methods)
			status(http.StatusMethodNotAllowed).write(cw)
		default:
			r.Body = http.MaxBytesReader(cw, r.Body, s.cfg.MaxBodyBytes)
			rt.serve(cw, r)
		}
		if !uncounted[path] {
			s.stats.HTTP(path, label(r.Method), cw.code, time.Since(start))
		}
	})
}

func allows(methods, m string) bool {
	return m == methods || methods == "GET POST" && (m == "GET" || m == "POST")
}

// label keeps invented methods from making series.
func label(method string) string {
	switch method {
	case "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS":
		return method
	}
	return "other"
}

// counted remembers the status that was sent.
type counted struct {
	http.ResponseWriter
	code int
}

// WriteHeader implements http.ResponseWriter.
func (c *counted) WriteHeader(code int) {
	c.code = code
	c.ResponseWriter.WriteHeader(code)
}

// Unwrap lets http.ResponseController reach the connection.
func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// answer writes v as JSON with status 200.
func answer(w http.ResponseWriter, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		(&failure{Message: err.Error(), Type: "InternalServerError", Code: http.StatusInternalServerError}).write(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b)
}

// health answers 200 or 503 with an empty body.
func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	if err := s.engine.Alive(r.Context()); err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusOK)
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	type card struct {
		ID          string  `json:"id"`
		Object      string  `json:"object"`
		Created     int64   `json:"created"`
		OwnedBy     string  `json:"owned_by"`
		Root        string  `json:"root"`
		Parent      *string `json:"parent"`
		MaxModelLen int     `json:"max_model_len"`
		Permission  []any   `json:"permission"`
	}
	answer(w, map[string]any{"object": "list", "data": []card{{
		ID: s.cfg.Model, Object: "model", Created: s.started.Unix(), OwnedBy: "sightline", Root: s.cfg.Model, MaxModelLen: s.cfg.MaxModelLen, Permission: []any{},
	}}})
}

// isJSON refuses bodies of another type, as vLLM does; it also keeps web pages
// of other origins from sending requests without a preflight.
func isJSON(r *http.Request) *failure {
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return &failure{Message: "Unsupported Media Type: Only 'application/json' is allowed", Type: "Bad Request", Code: http.StatusBadRequest}
	}
	return nil
}

func (s *Server) tokenize(w http.ResponseWriter, r *http.Request) {
	if f := isJSON(r); f != nil {
		f.write(w)
		return
	}
	var b body
	f := decode(r.Body, &b)
	var tokens []int32
	switch {
	case f != nil:
	case value(b.Model, s.cfg.Model) != s.cfg.Model:
		f = modelNotFound(*b.Model)
	case b.Messages != nil:
		var m []tinylm.Message
		if m, f = conversation(*b.Messages); f == nil {
			tokens = tinylm.EncodeChat(m)
		}
	default:
		var text string
		if err := json.Unmarshal(b.Prompt, &text); err != nil {
			f = missing(&b, "prompt")
		}
		tokens = tinylm.Encode(text)
	}
	if f != nil {
		f.write(w)
		return
	}
	answer(w, map[string]any{"count": len(tokens), "max_model_len": s.cfg.MaxModelLen, "tokens": tokens, "token_strs": nil})
}

// requestID is the client's own id when it sent a usable one, else random.
func requestID(r *http.Request, chat bool, random uint64) string {
	prefix := "cmpl-"
	if chat {
		prefix = "chatcmpl-"
	}
	id := r.Header.Get("X-Request-Id")
	if id == "" || len(id) > 64 {
		return prefix + fmt.Sprintf("%016x", random)
	}
	for _, c := range id {
		if c <= ' ' || c > '~' {
			return prefix + fmt.Sprintf("%016x", random)
		}
	}
	return prefix + id
}
