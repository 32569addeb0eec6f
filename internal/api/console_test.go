package api

import (
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConsoleFiles(t *testing.T) {
	f := newFixture(t)
	for _, c := range []struct {
		path, contentType, cache string
		status                   int
	}{
		{"/", "text/html; charset=utf-8", "no-cache", 200},
		{"/index.html", "text/html; charset=utf-8", "no-cache", 200},
		{"/now", "text/html; charset=utf-8", "no-cache", 200},
		{"/model/vision/resnet_mini?range=1h", "text/html; charset=utf-8", "no-cache", 200},
		{"/model/chat/llama-3.1-8b", "text/html; charset=utf-8", "no-cache", 200},
		{"/hardware.js.map", "application/json; charset=utf-8", "no-store", 404},
		{"/assets/a.b.c", "application/json; charset=utf-8", "no-store", 404},
		{"/assets", "text/html; charset=utf-8", "no-cache", 200},
		{"/assets/index-BdVk3a9Q.js", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable", 200},
		{"/assets/style-0123456789.css", "text/css; charset=utf-8", "public, max-age=31536000, immutable", 200},
		{"/assets/logo.svg", "image/svg+xml", "no-cache", 200},
		{"/assets/gone-BdVk3a9Q.js", "application/json; charset=utf-8", "no-store", 404},
		{"/favicon.ico", "application/json; charset=utf-8", "no-store", 404},
		{"/api/", "application/json; charset=utf-8", "no-store", 404},
		{"/a%00b", "application/json; charset=utf-8", "no-store", 404},
		{"/a%5c..%5c..%5cetc", "application/json; charset=utf-8", "no-store", 404},
	} {
		a := f.get(c.path)
		if a.status != c.status || a.header.Get("Content-Type") != c.contentType || a.header.Get("Cache-Control") != c.cache {
			t.Errorf("%s: %d %s, %s; want %d %s, %s", c.path, a.status, a.header.Get("Content-Type"), a.header.Get("Cache-Control"), c.status, c.contentType, c.cache)
		}
	}
	if a := f.post("/now", ""); a.status != 405 {
		t.Errorf("post to a page: %d", a.status)
	}
	if a := f.do(f.request("HEAD", "/", nil)); a.status != 200 || len(a.body) != 0 || a.header.Get("Content-Length") == "" {
		t.Errorf("head: %d %d bytes", a.status, len(a.body))
	}
}

func TestConsoleCompressionAndTags(t *testing.T) {
	f := newFixture(t)
	const js = "/assets/index-BdVk3a9Q.js"
	plain := f.get(js, "Accept-Encoding", "identity")
	zipped := f.get(js, "Accept-Encoding", "br;q=1.0, gzip;q=0.8")
	if zipped.header.Get("Content-Encoding") != "gzip" || zipped.header.Get("Vary") != "Accept-Encoding" || len(zipped.body) >= len(plain.body) {
		t.Fatalf("not compressed: %v", zipped.header)
	}
	zr, err := gzip.NewReader(bytes.NewReader(zipped.body))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(zr); err != nil || !bytes.Equal(b, plain.body) {
		t.Errorf("the compressed file is another: %v", err)
	}
	if plain.header.Get("ETag") == zipped.header.Get("ETag") {
		t.Error("two encodings share one tag")
	}
	if a := f.get(js, "Accept-Encoding", "identity", "If-None-Match", `"x", `+plain.header.Get("ETag")); a.status != 304 || len(a.body) != 0 {
		t.Errorf("known file is sent again: %d", a.status)
	}
	if a := f.get(js, "Accept-Encoding", "gzip;q=0"); a.header.Get("Content-Encoding") != "" {
		t.Error("gzip was declined and sent")
	}
	for h, want := range map[string]bool{"gzip": true, "GZIP": true, "deflate, gzip;q=0.5": true, "gzip; q=0.0": false, "gzip;q=0.001": true, "": false, "br": false} {
		if acceptsGzip(h) != want {
			t.Errorf("%q accepts gzip: %t", h, !want)
		}
	}
}

// TestConsoleStaysInside sends paths that a client library would clean.
func TestConsoleStaysInside(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"secret.txt": "TOP-SECRET", "web/index.html": "<html>"} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f := newFixture(t, func(_ *Config, d *Deps) { d.Console = os.DirFS(filepath.Join(root, "web")) })
	addr := strings.TrimPrefix(f.srv.URL, "http://")
	for _, path := range []string{
		"/../secret.txt", "/..%2fsecret.txt", "/%2e%2e/secret.txt", "/assets/../../secret.txt", "/assets/..%2f..%2fsecret.txt", "/..\\secret.txt", "/..%5csecret.txt",
		"//evil.example", "//evil.example/%2e%2e", "/\\evil.example", "///evil.example/..", "/%2f%2fevil.example", "//evil.example/..;/now", "http://evil.example/now", "/a//evil.example",
	} {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: "+addr+"\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(conn)
		conn.Close()
		head, body, _ := strings.Cut(string(b), "\r\n\r\n")
		if strings.Contains(body, "TOP-SECRET") {
			t.Errorf("%s leaves the console's files", path)
		}
		for _, line := range strings.Split(head, "\r\n") {
			if loc, ok := strings.CutPrefix(line, "Location: "); ok && (strings.HasPrefix(loc, "//") || strings.HasPrefix(loc, "/\\") || strings.Contains(loc, "://") || strings.HasPrefix(loc, "\\")) {
				t.Errorf("%s redirects to %s", path, loc)
			}
		}
	}
}

func TestNoConsole(t *testing.T) {
	f := newFixture(t, func(_ *Config, d *Deps) { d.Console = nil })
	if a := f.get("/"); a.status != http.StatusNotFound || a.env(t).Code != "console_missing" {
		t.Errorf("no console: %d %s", a.status, a.body)
	}
}
