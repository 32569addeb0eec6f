package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"sightline/internal/model"
)

// envelope is the shape of every JSON answer, the Prometheus API's with a code
// and a hint added to errors.
type envelope struct {
	Status    string    `json:"status"`
	Data      any       `json:"data,omitempty"`
	Warnings  []string  `json:"warnings,omitempty"`
	ErrorType string    `json:"errorType,omitempty"`
	Error     string    `json:"error,omitempty"`
	Code      string    `json:"code,omitempty"`
	Hint      string    `json:"hint,omitempty"`
	Position  *position `json:"position,omitempty"`
}

// position is where in a query the parser gave up; both count from 1.
type position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

func writeData(w http.ResponseWriter, r *http.Request, data any, warnings []string) {
	writeEnvelope(w, r, http.StatusOK, envelope{Status: "success", Data: data, Warnings: warnings})
}

// writeProblem answers an error. The sentence goes out as it is, cause included;
// the hint of a *model.Problem goes into its own field.
func writeProblem(w http.ResponseWriter, r *http.Request, status int, errorType string, err error) {
	e := envelope{Status: "error", ErrorType: errorType, Error: err.Error(), Code: model.CodeOf(err)}
	var p *model.Problem
	if errors.As(err, &p) && p.Hint != "" {
		// A problem's sentence ends with its hint, which has its own field here.
		e.Error, e.Hint = strings.TrimSuffix(e.Error, "; "+p.Hint), p.Hint
	}
	writeEnvelope(w, r, status, e)
}

func writeEnvelope(w http.ResponseWriter, r *http.Request, status int, e envelope) {
	b, err := json.Marshal(e)
	if err != nil {
		// Only a NaN or an infinity in an answer type can do this.
		status = http.StatusInternalServerError
		b = []byte(`{"status":"error","errorType":"internal","error":"the answer cannot be written as JSON","code":"answer_not_json"}`)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(append(b, '\n')) // a client that left is no error of ours
	}
}

// statusClosed is what nginx calls a client that closed the connection; it is
// only seen in metrics.
const statusClosed = 499

// answerStatus maps an error of a question to HTTP status and errorType. A
// problem with a code is the asker's to solve unless its code says otherwise.
func answerStatus(err error) (int, string) {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable, "timeout"
	case errors.Is(err, context.Canceled):
		return statusClosed, "canceled"
	}
	switch model.CodeOf(err) {
	case "internal", "query_failed", "query_invalid", "query_histogram_result":
		// The queries are ours: that one is wrong is no fault of the asker.
		return http.StatusInternalServerError, "internal"
	case "query_timeout":
		return http.StatusServiceUnavailable, "timeout"
	case "query_cancelled":
		return statusClosed, "canceled"
	case "storage_busy", "storage_closed", "storage_reopening":
		return http.StatusServiceUnavailable, "unavailable"
	case "query_too_many_samples", "too_many_series":
		return http.StatusUnprocessableEntity, "execution"
	default:
		return http.StatusBadRequest, "bad_data"
	}
}
