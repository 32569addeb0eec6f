package api

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// Bodies that drip in held the places of queries, so that a few connections
// that said nothing kept everybody else out.
func TestSlowBodiesHoldNoQuerySlot(t *testing.T) {
	f := newFixture(t)
	srv := httptest.NewServer(f.api.Handler())
	defer srv.Close()
	for range f.api.cfg.QueryConcurrency + 5 {
		c, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST /api/v1/query HTTP/1.1\r\nHost: %s\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\nquery=", srv.Listener.Addr())
	}
	time.Sleep(50 * time.Millisecond)
	r, err := http.Get(srv.URL + "/api/v1/query?query=1")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != 200 {
		b, _ := io.ReadAll(r.Body)
		t.Errorf("answer %d %s", r.StatusCode, b)
	}
}

func TestBodyThatDoesNotArrive(t *testing.T) {
	srv := httptest.NewServer(received(1000, 50*time.Millisecond, http.NotFoundHandler()))
	defer srv.Close()
	pr, pw := io.Pipe()
	defer pw.Close()
	r, err := http.Post(srv.URL, "text/plain", pr)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if b, _ := io.ReadAll(r.Body); r.StatusCode != http.StatusRequestTimeout || !strings.Contains(string(b), "body_too_slow") {
		t.Errorf("answer %d %s", r.StatusCode, b)
	}
}

// A deadline that outlives its body would cut a long answer.
func TestHurryEndsWithTheBody(t *testing.T) {
	for name, h := range map[string]http.Handler{
		"small body": received(1000, 100*time.Millisecond, waiting(t)),
		"write": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Body = &hurriedBody{r.Body, hurry(w, 100*time.Millisecond)}
			_, _ = io.Copy(io.Discard, r.Body)
			waiting(t).ServeHTTP(w, r)
		}),
	} {
		srv := httptest.NewServer(h)
		r, err := http.Post(srv.URL, "text/plain", strings.NewReader("x"))
		if err != nil {
			t.Fatal(name, err)
		}
		r.Body.Close()
		if r.StatusCode != http.StatusNoContent {
			t.Errorf("%s: answer %d", name, r.StatusCode)
		}
		srv.Close()
	}
}

// waiting answers after longer than the patience of its caller.
func waiting(t *testing.T) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
			t.Error("the request was cut after its body had arrived")
		case <-time.After(300 * time.Millisecond):
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

func TestClientThatDoesNotRead(t *testing.T) {
	ended := make(chan struct{})
	srv := httptest.NewServer(paced(100*time.Millisecond, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		defer close(ended)
		b := make([]byte, 16<<10)
		for range 10_000 {
			if _, err := w.Write(b); err != nil {
				return
			}
		}
		t.Error("everything was written although nobody read")
	})))
	defer srv.Close()
	c, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the handler still writes")
	}
}

// The deadline of one answer must not end the next on the same connection.
func TestPaceEndsWithTheAnswer(t *testing.T) {
	srv := httptest.NewServer(paced(100*time.Millisecond, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/late" {
			time.Sleep(300 * time.Millisecond)
			w.WriteHeader(http.StatusNoContent) // no Write, which would set a new one
			return
		}
		_, _ = io.WriteString(w, "x")
	})))
	defer srv.Close()
	for _, path := range []string{"/", "/late", "/"} {
		r, err := srv.Client().Get(srv.URL + path)
		if err != nil {
			t.Fatal(path, err)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
}

func TestQueriesTooDeepToParse(t *testing.T) {
	f := newFixture(t)
	deep := strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000)
	for path, name := range map[string]string{
		"/api/v1/query": "query", "/api/v1/format_query": "query", "/api/v1/parse_query": "query", "/api/v1/series": "match[]", "/federate": "match[]",
	} {
		a := f.get(path + "?" + url.Values{name: {deep}}.Encode())
		if a.status != 400 || !strings.Contains(string(a.body), "query_too_complex") {
			t.Errorf("%s: %d %.200s", path, a.status, a.body)
		}
	}
}
