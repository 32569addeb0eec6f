package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sort"
	"strconv"
	"strings"

	"sightline/internal/demo/chat/engine"
)

// failure is an error as vLLM 0.32 sends it: nested, with an integer code.
type failure struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    int     `json:"code"` // HTTP status
}

// Error makes a failure usable as an error.
func (f *failure) Error() string { return f.Message }

func (f *failure) body() []byte {
	b, err := json.Marshal(map[string]*failure{"error": f})
	if err != nil { // strings and an integer always encode
		panic(err)
	}
	return b
}

func (f *failure) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.Code)
	_, _ = w.Write(f.body())
}

// badRequest is a value that the server refuses; param may be empty.
func badRequest(param, format string, args ...any) *failure {
	f := &failure{Message: fmt.Sprintf(format, args...), Type: "BadRequestError", Code: http.StatusBadRequest}
	if param != "" {
		f.Param = &param
	}
	return f
}

// invalidBody is a body that does not have the shape of a request, in the words
// of the validator behind vLLM's API. rest continues the dictionary.
func invalidBody(kind string, loc []string, msg, rest string) *failure {
	at := []string{"'body'"}
	for _, l := range loc {
		if _, err := strconv.Atoi(l); err != nil {
			l = "'" + l + "'"
		}
		at = append(at, l)
	}
	tuple := strings.Join(at, ", ")
	if len(at) == 1 {
		tuple += ","
	}
	return &failure{
		Message: fmt.Sprintf("[{'type': '%s', 'loc': (%s), 'msg': '%s'%s}]", kind, tuple, msg, rest),
		Type:    "Bad Request", Code: http.StatusBadRequest,
	}
}

func modelNotFound(name string) *failure {
	param := "model"
	return &failure{Message: fmt.Sprintf("The model `%s` does not exist.", name), Type: "NotFoundError", Param: &param, Code: http.StatusNotFound}
}

// status is a failure of the HTTP layer itself.
func status(code int) *failure {
	return &failure{Message: http.StatusText(code), Type: http.StatusText(code), Code: code}
}

// ofEngine translates what the engine says into what a client reads.
func ofEngine(err error) *failure {
	internal := &failure{Type: "InternalServerError", Code: http.StatusInternalServerError}
	busy := &failure{Type: "Service Unavailable", Code: http.StatusServiceUnavailable}
	switch {
	case errors.Is(err, engine.ErrQueueFull):
		busy.Message = "The engine is currently busy and cannot accept new requests. Please try again later or on a different instance."
		return busy
	case errors.Is(err, engine.ErrQueuedTokens):
		busy.Message = "The engine has reached its prefill token backlog limit. Please try again later or on a different instance."
		return busy
	case errors.Is(err, engine.ErrStopped):
		busy.Message = "The engine is shutting down. Please try again later or on a different instance."
		return busy
	case errors.Is(err, engine.ErrDead):
		internal.Message = "EngineCore encountered an issue. See stack trace (above) for the root cause."
	default:
		internal.Message = err.Error()
	}
	return internal
}

// pythonText writes a decoded JSON value as Python prints it, at most about
// limit bytes of it.
func pythonText(v any, limit int) string {
	var b strings.Builder
	var put func(any)
	put = func(v any) {
		if b.Len() > limit {
			return
		}
		switch x := v.(type) {
		case nil:
			b.WriteString("None")
		case bool:
			b.WriteString(map[bool]string{true: "True", false: "False"}[x])
		case string:
			if len(x) > limit {
				x = x[:limit] + "..."
			}
			b.WriteString("'" + strings.ReplaceAll(strings.ReplaceAll(x, `\`, `\\`), "'", `\'`) + "'")
		case float64:
			b.WriteString(strconv.FormatFloat(x, 'g', -1, 64))
		case []any:
			b.WriteString("[")
			for i, e := range x {
				if i > 0 {
					b.WriteString(", ")
				}
				put(e)
			}
			b.WriteString("]")
		case map[string]any:
			keys := make([]string, 0, len(x))
			for k := range x {
				keys = append(keys, k)
			}
			sort.Strings(keys)
			b.WriteString("{")
			for i, k := range keys {
				if i > 0 {
					b.WriteString(", ")
				}
				put(k)
				b.WriteString(": ")
				put(x[k])
			}
			b.WriteString("}")
		}
	}
	put(v)
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}
