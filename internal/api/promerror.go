package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// explained adds code, hint and the position of a syntax error to the error
// answers of the Prometheus API, whose own fields stay as they are. Its own
// compression is off: it would hide them, and answers are compressed further
// out.
func explained(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Accept-Encoding")
		if r.Method == http.MethodHead {
			// Its router knows no HEAD; the server drops the body by itself.
			r = r.Clone(r.Context())
			r.Method = http.MethodGet
		}
		e := &explainer{ResponseWriter: w}
		next.ServeHTTP(e, r)
		e.finish()
	})
}

type explainer struct {
	http.ResponseWriter
	code int
	held bool
	body bytes.Buffer
}

// WriteHeader implements http.ResponseWriter; it holds JSON errors back.
func (e *explainer) WriteHeader(code int) {
	if code >= 400 && e.code == 0 && strings.HasPrefix(e.Header().Get("Content-Type"), "application/json") {
		e.held = true
	}
	e.code = code
	if !e.held {
		e.ResponseWriter.WriteHeader(code)
	}
}

// Write implements http.ResponseWriter.
func (e *explainer) Write(b []byte) (int, error) {
	if e.code == 0 {
		e.code = http.StatusOK
	}
	if e.held {
		return e.body.Write(b)
	}
	return e.ResponseWriter.Write(b)
}

// Flush implements http.Flusher for streamed answers.
func (e *explainer) Flush() {
	if f, ok := e.ResponseWriter.(http.Flusher); ok && !e.held {
		f.Flush()
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (e *explainer) Unwrap() http.ResponseWriter { return e.ResponseWriter }

func (e *explainer) finish() {
	if !e.held {
		return
	}
	body := e.body.Bytes()
	var answer map[string]json.RawMessage
	if json.Unmarshal(body, &answer) == nil {
		var typ, text string
		_ = json.Unmarshal(answer["errorType"], &typ) // both stay empty when absent
		_ = json.Unmarshal(answer["error"], &text)
		code, hint, pos := explain(typ, text)
		for k, v := range map[string]any{"code": code, "hint": hint, "position": pos} {
			if b, err := json.Marshal(v); err == nil && v != "" && v != (*position)(nil) {
				answer[k] = b
			}
		}
		if b, err := json.Marshal(answer); err == nil {
			body = b
		}
	}
	e.Header().Del("Content-Length")
	e.ResponseWriter.WriteHeader(e.code)
	_, _ = e.ResponseWriter.Write(body) // a client that left is no error of ours
}

// where finds the position that the PromQL parser writes in front of its
// errors, "line:column: parse error".
var where = regexp.MustCompile(`(?:^|[ :])(\d+):(\d+): parse error:`)

// costly tells queries that are refused before they run by their words, which
// are all that the Prometheus API passes on.
var costly = []struct{ text, code, hint string }{
	{"a subquery takes more than", "query_too_many_steps", "give it a longer step or a shorter range"},
	{"the query nests more than", "query_too_complex", "split it, or record parts of it by rules"},
}

// explain gives an error of the Prometheus API a code, a hint and, for a syntax
// error, its position.
func explain(errorType, text string) (code, hint string, pos *position) {
	if m := where.FindStringSubmatch(text); m != nil {
		line, err1 := strconv.Atoi(m[1])
		col, err2 := strconv.Atoi(m[2])
		if err1 == nil && err2 == nil {
			pos = &position{Line: line, Column: col}
		}
		return "promql_syntax", "correct the query at the position", pos
	}
	switch {
	case strings.Contains(text, "parse error") || strings.Contains(text, "no expression found in input"):
		return "promql_syntax", "correct the query", nil
	case strings.Contains(text, "exceeded maximum resolution"):
		return "too_many_points", "use a larger step or a shorter range", nil
	case strings.Contains(text, "would load too many samples"):
		return "query_too_many_samples", "narrow the selectors or the range", nil
	case strings.Contains(text, "http: request body too large"):
		return "body_too_large", "send a smaller body", nil
	}
	for _, c := range costly {
		if strings.Contains(text, c.text) {
			return c.code, c.hint, nil
		}
	}
	switch errorType {
	case "bad_data":
		return "parameter_invalid", "correct the parameter that the error names", nil
	case "timeout":
		return "query_timeout", "narrow the selectors or the range, or raise query.timeout", nil
	case "canceled":
		return "query_cancelled", "", nil
	case "execution":
		return "query_failed", "", nil
	case "unavailable":
		return "unavailable", "", nil
	case "not_found":
		return "not_found", "", nil
	case "not_acceptable":
		return "not_acceptable", "ask for application/json", nil
	}
	return "internal", "see the server's log", nil
}
