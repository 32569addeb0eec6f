package api

import (
	"net/http"

	"sightline/internal/model"
)

// sameOrigin refuses what another site's page makes a browser send. Requests
// that change state are refused by Sec-Fetch-Site and Origin (the standard
// library's check; clients that are no browser send neither and pass). Answers
// never carry Access-Control headers, so reads across origins stay unreadable;
// the Origin header is dropped because the Prometheus API would answer it with
// such headers.
func sameOrigin(next http.Handler, refuse func(http.ResponseWriter, *http.Request, int, error)) http.Handler {
	check := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := check.Check(r); err != nil {
			refuse(w, r, http.StatusForbidden, &model.Problem{
				Code: "cross_origin",
				Text: "a page of another origin may not send this request",
				Hint: "open the console under the address of this server, or call the API from outside a browser",
			})
			return
		}
		r.Header.Del("Origin")
		next.ServeHTTP(w, r)
	})
}

// contentSecurityPolicy lets pages load from here only. Inline style is allowed
// because the query editor creates style elements at run time; inline script is
// not.
const contentSecurityPolicy = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; worker-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// secured sets the headers that tell a browser to keep answers to this origin.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentSecurityPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}
