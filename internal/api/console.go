package api

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"

	"sightline/internal/model"
)

// hashed matches file names that carry a hash of their content, as the console's
// build writes them; such a file never changes under its name.
var hashed = regexp.MustCompile(`^assets/.+-[A-Za-z0-9_-]{8,}\.[a-z0-9]+$`)

// console serves the built single-page application from a file system that
// does not change while the process runs.
type console struct {
	files fs.FS
	cache sync.Map // name → *asset; bounded by the files that exist
}

// asset is one file, plain and as gzip when that is smaller.
type asset struct {
	contentType string
	etag        string
	plain, zip  []byte
}

func newConsole(files fs.FS) *console { return &console{files: files} }

// types are those that a minimal system's MIME table may lack or get wrong.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8", ".json": "application/json", ".map": "application/json", ".svg": "image/svg+xml",
	".woff2": "font/woff2", ".png": "image/png", ".ico": "image/x-icon", ".txt": "text/plain; charset=utf-8",
	".webmanifest": "application/manifest+json", ".wasm": "application/wasm",
}

// compressible are the types that gzip makes smaller.
func compressible(contentType string) bool {
	return strings.HasPrefix(contentType, "text/") || strings.HasPrefix(contentType, "application/json") ||
		strings.HasPrefix(contentType, "application/manifest") || contentType == "image/svg+xml" || contentType == "application/wasm"
}

func (c *console) load(name string) (*asset, error) {
	if v, ok := c.cache.Load(name); ok {
		return v.(*asset), nil
	}
	st, err := fs.Stat(c.files, name)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fs.ErrNotExist
	}
	b, err := fs.ReadFile(c.files, name)
	if err != nil {
		return nil, err
	}
	ext := strings.ToLower(path.Ext(name))
	a := &asset{plain: b, contentType: types[ext]}
	if a.contentType == "" {
		a.contentType = mime.TypeByExtension(ext)
	}
	if a.contentType == "" {
		a.contentType = "application/octet-stream"
	}
	sum := sha256.Sum256(b)
	a.etag = hex.EncodeToString(sum[:12])
	if z, err := fs.ReadFile(c.files, name+".gz"); err == nil {
		a.zip = z // the build has done it, and better
	} else if compressible(a.contentType) && len(b) > 1024 {
		var buf bytes.Buffer
		zw, _ := gzip.NewWriterLevel(&buf, gzip.BestCompression) // a constant level
		_, werr := zw.Write(b)
		if err := errors.Join(werr, zw.Close()); err == nil && buf.Len() < len(b) {
			a.zip = buf.Bytes()
		}
	}
	v, _ := c.cache.LoadOrStore(name, a)
	return v.(*asset), nil
}

// looksLikeFile tells a file that is missing from a page. A dot alone says
// nothing: models are called llama-3.1-8b.
func looksLikeFile(name string) bool {
	return strings.HasPrefix(name, "assets/") || types[strings.ToLower(path.Ext(name))] != ""
}

// serveConsole serves files by their path; a path that is no file and looks
// like none is a page of the application, which routes by itself.
func (a *API) serveConsole(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		writeProblem(w, r, http.StatusMethodNotAllowed, "bad_data", &model.Problem{Code: "method_not_allowed", Text: "the console is only read", Hint: "use GET"})
		return
	}
	if a.console == nil {
		writeProblem(w, r, http.StatusNotFound, "not_found", &model.Problem{Code: "console_missing", Text: "this server was built without the console", Hint: "build it with: make build"})
		return
	}
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
	if name == "" {
		name = "index.html"
	}
	if !fs.ValidPath(name) || strings.ContainsAny(name, "\\\x00") {
		serveUnknown(w, r)
		return
	}
	f, err := a.console.load(name)
	if err != nil && !looksLikeFile(name) {
		name = "index.html"
		f, err = a.console.load(name)
	}
	if err != nil {
		serveUnknown(w, r)
		return
	}
	f.serve(w, r, hashed.MatchString(name))
}

func (f *asset) serve(w http.ResponseWriter, r *http.Request, immutable bool) {
	h := w.Header()
	h.Set("Content-Type", f.contentType)
	h.Set("Cache-Control", "no-cache")
	if immutable {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	body, tag := f.plain, f.etag
	if f.zip != nil {
		h.Set("Vary", "Accept-Encoding")
		if acceptsGzip(r.Header.Get("Accept-Encoding")) {
			body, tag = f.zip, f.etag+"-gzip"
			h.Set("Content-Encoding", "gzip")
		}
	}
	h.Set("ETag", `"`+tag+`"`)
	if matchesTag(r.Header.Get("If-None-Match"), tag) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Length", fmt.Sprint(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // a client that left is no error of ours
	}
}

func acceptsGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		coding, q, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			q = strings.ReplaceAll(q, " ", "")
			return !strings.HasPrefix(q, "q=0") || strings.Trim(q, "q=0.") != ""
		}
	}
	return false
}

func matchesTag(header, tag string) bool {
	for part := range strings.SplitSeq(header, ",") {
		part = strings.TrimPrefix(strings.TrimSpace(part), "W/")
		if part == "*" || part == `"`+tag+`"` {
			return true
		}
	}
	return false
}
