package api

import (
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/golang/snappy"

	"sightline/internal/model"
)

// writeV1 takes remote write 1.0 messages, whose receiver is ours, and leaves
// all others to next.
func (a *API) writeV1(next http.Handler) http.Handler {
	if a.deps.WriteV1 == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isWriteV1(r.Header) {
			next.ServeHTTP(w, r)
			return
		}
		err := a.takeV1(r)
		switch model.CodeOf(err) {
		case "":
			w.WriteHeader(http.StatusNoContent)
		case "samples_refused", "body_invalid":
			writeProblem(w, r, http.StatusBadRequest, "bad_data", err)
		default:
			// 5xx tells the sender to keep the samples and try again.
			a.deps.Log.Warn("remote write failed", "err", err)
			writeProblem(w, r, http.StatusInternalServerError, "internal", err)
		}
	})
}

func isWriteV1(h http.Header) bool {
	media, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || !strings.EqualFold(media, "application/x-protobuf") {
		return h.Get("Content-Type") == "" && encodedSnappy(h)
	}
	proto := params["proto"]
	return (proto == "" || proto == "prometheus.WriteRequest") && encodedSnappy(h)
}

func encodedSnappy(h http.Header) bool {
	e := h.Get("Content-Encoding")
	return e == "" || e == "snappy"
}

// takeV1 unpacks a body that limitWrite has found small enough.
func (a *API) takeV1(r *http.Request) error {
	packed, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	if n, err := snappy.DecodedLen(packed); err != nil || int64(n) > a.cfg.WriteBodyLimit {
		return &model.Problem{Code: "body_invalid", Text: "the body is not compressed with snappy", Hint: "send prometheus.WriteRequest, compressed with snappy"}
	}
	body, err := snappy.Decode(nil, packed)
	if err != nil {
		return &model.Problem{Code: "body_invalid", Text: "the body is not compressed with snappy", Hint: "send prometheus.WriteRequest, compressed with snappy", Err: err}
	}
	return a.deps.WriteV1(r.Context(), body)
}
