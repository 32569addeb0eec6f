package api

import (
	"net"
	"net/http"
	"strings"

	"sightline/internal/model"
)

// sourceHeader lets a writer name itself, so that limits and counts are its
// own even behind a shared token or address.
const sourceHeader = "X-Sightline-Source"

// sourced sets the ingest source of a write: what the writer calls itself, else
// the token's name, else the address it comes from.
func (a *API) sourced(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.Header.Get(sourceHeader)
		switch {
		// Scrape targets are sources under their URL: no writer may take that.
		case name != "" && (!plainName(name) || strings.Contains(name, "//")):
			writeProblem(w, r, http.StatusBadRequest, "bad_data", &model.Problem{
				Code: "source_invalid", Text: "the header " + sourceHeader + " is not a plain name", Hint: "use at most 128 letters, digits or . _ - / : @, and no //",
			})
			return
		case name == "":
			name = identityOf(r.Context()).name
		}
		if name == "" {
			if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
				name = host
			} else {
				name = "unknown"
			}
		}
		next.ServeHTTP(w, r.WithContext(a.deps.WithSource(r.Context(), name)))
	})
}
