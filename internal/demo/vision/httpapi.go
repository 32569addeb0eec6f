package vision

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// headerLength is the header of the binary tensor extension.
const headerLength = "Inference-Header-Content-Length"

// httpAPI serves the HTTP form of the protocol.
func httpAPI(r *repository, maxBody int64) http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, f func(http.ResponseWriter, *http.Request) *failure) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, req *http.Request) {
			if fail := f(w, req); fail != nil {
				writeFailure(w, fail)
			}
		})
	}
	both := func(method, rest string, f func(http.ResponseWriter, *http.Request) *failure) {
		handle(method+" /v2/models/{model}"+rest, f)
		handle(method+" /v2/models/{model}/versions/{version}"+rest, f)
	}
	handle("GET /v2/health/live", func(http.ResponseWriter, *http.Request) *failure { return nil })
	handle("GET /v2/health/ready", func(w http.ResponseWriter, _ *http.Request) *failure {
		if !r.ready() {
			w.WriteHeader(http.StatusBadRequest) // Triton's answer when not ready
		}
		return nil
	})
	handle("GET /v2", func(w http.ResponseWriter, _ *http.Request) *failure {
		return writeJSON(w, map[string]any{"name": serverName, "version": serverVersion, "extensions": extensions})
	})
	both("GET", "/ready", func(w http.ResponseWriter, q *http.Request) *failure {
		if _, f := r.find(q.PathValue("model"), q.PathValue("version")); f != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
		return nil
	})
	both("GET", "", func(w http.ResponseWriter, q *http.Request) *failure {
		m, f := r.metadata(q.PathValue("model"), q.PathValue("version"))
		if f != nil {
			return f
		}
		return writeJSON(w, m)
	})
	both("GET", "/config", func(w http.ResponseWriter, q *http.Request) *failure {
		v, f := r.find(q.PathValue("model"), q.PathValue("version"))
		if f != nil {
			return f
		}
		return writeJSON(w, v.config())
	})
	stats := func(w http.ResponseWriter, q *http.Request) *failure {
		s, f := r.statistics(q.PathValue("model"), q.PathValue("version"))
		if f != nil {
			return f
		}
		return writeJSON(w, map[string]any{"model_stats": s})
	}
	both("GET", "/stats", stats)
	handle("GET /v2/models/stats", stats)
	both("POST", "/infer", func(w http.ResponseWriter, q *http.Request) *failure { return httpInfer(r, maxBody, w, q) })
	handle("POST /v2/repository/index", func(w http.ResponseWriter, q *http.Request) *failure { return httpIndex(r, w, q) })
	handle("POST /v2/repository/models/{model}/load", func(_ http.ResponseWriter, q *http.Request) *failure { return r.load(q.PathValue("model")) })
	handle("POST /v2/repository/models/{model}/unload", func(_ http.ResponseWriter, q *http.Request) *failure { return r.unload(q.PathValue("model")) })
	return mux
}

func writeFailure(w http.ResponseWriter, f *failure) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.httpStatus())
	_, _ = io.WriteString(w, `{"error":`+quote(f.text)+`}`) // a client that hung up needs no answer
}

func writeJSON(w http.ResponseWriter, v any) *failure {
	b, err := json.Marshal(v)
	if err != nil {
		return asFailure(err)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b) // a client that hung up needs no answer
	return nil
}

// readBody reads at most most bytes.
func readBody(w http.ResponseWriter, q *http.Request, most int64) ([]byte, *failure) {
	body := http.MaxBytesReader(w, q.Body, most)
	var buf []byte
	if n := q.ContentLength; n > 0 && n <= most {
		buf = make([]byte, n)
		if _, err := io.ReadFull(body, buf); err != nil {
			return nil, invalid("failed to read the request body: " + err.Error())
		}
		return buf, nil
	}
	buf, err := io.ReadAll(body)
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return nil, invalid(fmt.Sprintf("request body exceeds the maximum allowed value of %d bytes", most))
	}
	if err != nil {
		return nil, invalid("failed to read the request body: " + err.Error())
	}
	return buf, nil
}

func httpInfer(r *repository, maxBody int64, w http.ResponseWriter, q *http.Request) *failure {
	begin := time.Now()
	if _, f := r.find(q.PathValue("model"), q.PathValue("version")); f != nil {
		return f
	}
	body, f := readBody(w, q, maxBody)
	if f != nil {
		return f
	}
	header := -1
	if h := q.Header.Get(headerLength); h != "" {
		n, err := strconv.Atoi(h)
		if err != nil || n < 0 {
			return invalid(fmt.Sprintf("unable to parse %s, got: %s", headerLength, h))
		}
		header = n
	}
	req, f := parseInfer(body, header)
	if f != nil {
		return f
	}
	req.receiveUS = time.Since(begin).Microseconds()
	res, f := r.infer(q.Context(), q.PathValue("model"), q.PathValue("version"), req)
	if f != nil {
		return f
	}
	out, split := encodeInfer(res)
	w.Header().Set("Content-Type", "application/json")
	if split >= 0 {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set(headerLength, strconv.Itoa(split))
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(out)))
	_, _ = w.Write(out) // a client that hung up needs no answer
	return nil
}

// httpIndex lists the repository; the body may ask for ready models only.
func httpIndex(r *repository, w http.ResponseWriter, q *http.Request) *failure {
	body, f := readBody(w, q, 1<<20)
	if f != nil {
		return f
	}
	var ask struct {
		Ready bool `json:"ready"`
	}
	if len(body) > 0 {
		if err := json.Unmarshal(body, &ask); err != nil {
			return invalid("failed to parse the request JSON buffer: " + err.Error())
		}
	}
	return writeJSON(w, r.index(ask.Ready))
}
