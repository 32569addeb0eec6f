package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"sightline/internal/model"
)

// parseQuery reads the query string strictly: a half-escaped one is an error,
// not a shorter question.
func parseQuery(r *http.Request) (url.Values, error) {
	v, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, &model.Problem{Code: "parameter_invalid", Text: "the query string cannot be read", Hint: "escape it", Err: err}
	}
	return v, nil
}

// question is the way of all questions: parse, ask under the timeout, answer.
func question[Q, A any](a *API, w http.ResponseWriter, r *http.Request, parse func(url.Values) (Q, error), ask func(context.Context, Q) (A, error), warnings func(A) []string) {
	v, err := parseQuery(r)
	var q Q
	if err == nil {
		q, err = parse(v)
	}
	if err != nil {
		writeProblem(w, r, http.StatusBadRequest, "bad_data", err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.cfg.QueryTimeout)
	defer cancel()
	ans, err := ask(ctx, q)
	if errors.Is(err, context.DeadlineExceeded) && model.CodeOf(err) == "internal" {
		err = &model.Problem{Code: "query_timeout", Text: fmt.Sprintf("the answer took longer than %s", a.cfg.QueryTimeout), Hint: "ask for less, or raise query.timeout", Err: err}
	}
	if err != nil {
		status, typ := answerStatus(err)
		if status >= 500 {
			a.deps.Log.Error("question failed", "path", r.URL.Path, "query", clip(r.URL.RawQuery, 500), "err", err)
		}
		writeProblem(w, r, status, typ, err)
		return
	}
	writeData(w, r, ans, warnings(ans))
}

func (a *API) serveConfig(w http.ResponseWriter, r *http.Request) {
	text, err := a.deps.ConfigText()
	if err != nil {
		writeProblem(w, r, http.StatusInternalServerError, "internal", err)
		return
	}
	w.Header().Set("Content-Type", "application/yaml; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if r.Method != http.MethodHead {
		_, _ = w.Write([]byte(text)) // a client that left is no error of ours
	}
}

func writeJSON(w http.ResponseWriter, r *http.Request, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written as JSON"}`)
	}
	writeBody(w, r, status, "application/json; charset=utf-8", append(b, '\n'))
}

func writeText(w http.ResponseWriter, r *http.Request, status int, s string) {
	writeBody(w, r, status, "text/plain; charset=utf-8", []byte(s))
}

func writeBody(w http.ResponseWriter, r *http.Request, status int, contentType string, b []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(b) // a client that left is no error of ours
	}
}
