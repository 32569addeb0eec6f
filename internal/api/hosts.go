package api

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"sightline/internal/model"
)

// hostGuard answers only requests that mean this server by name. A page of a
// stranger whose DNS name is rebound to our address still sends its own name
// as Host, so checking the name is what stops it from reading answers.
type hostGuard struct {
	any   bool
	exact map[string]bool
	below []string // ".example.org"
}

func newHostGuard(listen string, allowed []string) *hostGuard {
	g := &hostGuard{exact: map[string]bool{}}
	if h, _, err := net.SplitHostPort(listen); err == nil && h != "" {
		if a, err := netip.ParseAddr(h); err != nil || !a.IsUnspecified() {
			g.exact[canonicalHost(h)] = true
		}
	}
	for _, h := range allowed {
		switch h = strings.TrimSpace(h); {
		case h == "":
		case h == "*":
			g.any = true
		case strings.HasPrefix(h, "*."):
			g.below = append(g.below, canonicalHost(h[1:]))
		default:
			if bare, _, err := net.SplitHostPort(h); err == nil {
				h = bare
			}
			g.exact[canonicalHost(h)] = true
		}
	}
	return g
}

// canonicalHost lowers the name, drops brackets, zone-less trailing dot, and
// writes an address in its one canonical form.
func canonicalHost(h string) string {
	h = strings.ToLower(strings.TrimSuffix(strings.Trim(h, "[]"), "."))
	if a, err := netip.ParseAddr(h); err == nil {
		return a.Unmap().String()
	}
	return h
}

// hostOf cuts the port off a Host header. ok is false for a malformed one.
func hostOf(header string) (host string, ok bool) {
	defer func() { ok = ok && host != "" }()
	if header == "" || strings.ContainsAny(header, "@/\\ \t\r\n") {
		return "", false
	}
	if strings.HasPrefix(header, "[") || strings.Count(header, ":") == 1 {
		if strings.HasSuffix(header, "]") {
			return canonicalHost(header), true
		}
		h, port, err := net.SplitHostPort(header)
		if err != nil || strings.Trim(port, "0123456789") != "" {
			return "", false
		}
		return canonicalHost(h), true
	}
	return canonicalHost(header), true
}

// accepts decides on the Host header. local is the address of our end of the
// connection, nil when unknown: naming it is naming us, which matters when we
// listen on a wildcard.
func (g *hostGuard) accepts(header string, local net.Addr) bool {
	host, ok := hostOf(header)
	if !ok {
		return false
	}
	if g.any || g.exact[host] || loopbackHost(host) {
		return true
	}
	for _, suffix := range g.below {
		if strings.HasSuffix(host, suffix) && len(host) > len(suffix) {
			return true
		}
	}
	if local == nil {
		return false
	}
	lh, _, err := net.SplitHostPort(local.String())
	return err == nil && canonicalHost(lh) == host
}

func (g *hostGuard) wrap(next http.Handler, refuse func(http.ResponseWriter, *http.Request, int, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		// Probes carry no data and are asked under whatever name a load
		// balancer has for us.
		if !isProbe(r.URL.Path) && !g.accepts(r.Host, local) {
			refuse(w, r, http.StatusMisdirectedRequest, &model.Problem{
				Code: "host_not_allowed",
				Text: "this server does not answer to the host name of the request",
				Hint: "add the name to allowed_hosts, or use the listen address",
			})
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isProbe(path string) bool {
	switch path {
	case "/healthz", "/readyz", "/-/healthy", "/-/ready":
		return true
	}
	return false
}
