package api

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"sightline/internal/health"
	"sightline/internal/model"
)

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	if got := model.CodeOf(err); got != code {
		t.Errorf("code %q, want %q (%v)", got, code, err)
	}
}

func TestCheckListen(t *testing.T) {
	for _, c := range []struct {
		addr                  string
		tls, tokens, insecure bool
		code                  string
	}{
		{addr: "127.0.0.1:7070"},
		{addr: "127.9.9.9:7070"},
		{addr: "[::1]:7070"},
		{addr: "[::ffff:127.0.0.1]:7070"},
		{addr: "localhost:7070"},
		{addr: "LOCALHOST.:7070"},
		{addr: "ip6.localhost:0"},
		{addr: "", code: "listen_open"},
		{addr: ":7070", code: "listen_open"},
		{addr: "0.0.0.0:7070", code: "listen_open"},
		{addr: "[::]:7070", code: "listen_open"},
		{addr: "10.0.0.1:7070", code: "listen_open"},
		{addr: "[fe80::1%eth0]:7070", code: "listen_open"},
		{addr: "gpu-7.example.org:7070", code: "listen_open"},
		{addr: "localhost.example.org:7070", code: "listen_open"},
		{addr: "127.0.0.1.example.org:7070", code: "listen_open"},
		{addr: "0.0.0.0:7070", tls: true, code: "listen_open"},
		{addr: "0.0.0.0:7070", tokens: true, code: "listen_open"},
		{addr: "0.0.0.0:7070", tls: true, tokens: true},
		{addr: "0.0.0.0:7070", insecure: true},
		{addr: "", insecure: true},
		{addr: "127.0.0.1", code: "listen_invalid"},
		{addr: "::1:7070:", insecure: true, code: "listen_invalid"},
	} {
		wantCode(t, CheckListen(c.addr, c.tls, c.tokens, c.insecure), c.code)
	}
	err := CheckListen("0.0.0.0:7070", true, false, false)
	if s := err.Error(); !strings.Contains(s, "no token") || strings.Contains(s, "TLS and") {
		t.Errorf("the sentence does not say what is missing: %s", s)
	}
}

func TestHostHeader(t *testing.T) {
	g := newHostGuard("gpu-7.example.org:7070", []string{"sight.example.org", "*.corp.example", "[2001:db8::5]:7070", ""})
	local := &net.TCPAddr{IP: net.ParseIP("10.1.2.3"), Port: 7070}
	for host, want := range map[string]bool{
		"localhost:7070": true, "LocalHost": true, "127.0.0.1:1234": true, "[::1]:7070": true, "[::1]": true, "a.localhost": true,
		"gpu-7.example.org:7070": true, "GPU-7.example.org.": true, "sight.example.org": true, "x.corp.example:9": true,
		"[2001:DB8:0::5]": true, "10.1.2.3:7070": true,
		"": false, "evil.example": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false,
		"corp.example": false, "xcorp.example": false, "10.1.2.4:7070": false, "sight.example.org:70x": false,
		"user@localhost": false, "localhost/": false, "localhost:7070:1": false, "[::1": false, ":7070": false, "0.0.0.0": false,
	} {
		if got := g.accepts(host, local); got != want {
			t.Errorf("host %q accepted %t, want %t", host, got, want)
		}
	}
	if newHostGuard("0.0.0.0:7070", nil).accepts("10.1.2.3:7070", nil) {
		t.Error("without the connection's own address a foreign address was accepted")
	}
	if newHostGuard("0.0.0.0:7070", nil).accepts("0.0.0.0:7070", local) {
		t.Error("0.0.0.0 is reachable from a browser and must not pass as our name")
	}
	if !newHostGuard(":7070", []string{"*"}).accepts("anything.example", nil) {
		t.Error("* does not accept everything")
	}
}

func FuzzHostOf(f *testing.F) {
	for _, s := range []string{"localhost:1", "[::1]:1", "a:b:c", "@", ".:", ".", "[", "]", "::1", "1.2.3.4:"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		host, ok := hostOf(s)
		if ok && host == "" {
			t.Errorf("%q gave an empty host", s)
		}
		if ok && strings.ContainsAny(host, "/@ ") {
			t.Errorf("%q gave host %q", s, host)
		}
	})
}

func TestRebindingIsRefused(t *testing.T) {
	f := newFixture(t)
	for _, path := range []string{"/", "/api/v1/query?query=1", "/metrics", "/api/v1/sightline/status", "/federate"} {
		a := f.get(path, "Host", "rebound.example:7070")
		if a.status != http.StatusMisdirectedRequest || a.env(t).Code != "host_not_allowed" {
			t.Errorf("%s under a foreign name: %d %.200s", path, a.status, a.body)
		}
		if strings.Contains(string(a.body), "rebound") {
			t.Errorf("the foreign name is echoed: %s", a.body)
		}
	}
	if a := f.get("/healthz", "Host", "lb.example"); a.status != 200 {
		t.Errorf("probe under a balancer's name: %d", a.status)
	}
	if a := f.get("/metrics"); !strings.Contains(string(a.body), `sightline_http_refused_requests_total{reason="host_not_allowed"} 5`) {
		t.Errorf("refusals are not counted: %.300s", a.body)
	}
}

func TestCrossOrigin(t *testing.T) {
	f := newFixture(t)
	host := strings.TrimPrefix(f.srv.URL, "http://")
	for _, c := range []struct {
		name, method string
		headers      []string
		refused      bool
	}{
		{"no browser", "POST", nil, false},
		{"own page", "POST", []string{"Origin", "http://" + host, "Sec-Fetch-Site", "same-origin"}, false},
		{"own page, old browser", "POST", []string{"Origin", "http://" + host}, false},
		{"typed in", "POST", []string{"Sec-Fetch-Site", "none"}, false},
		{"foreign page", "POST", []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, true},
		{"foreign page, old browser", "POST", []string{"Origin", "https://evil.example"}, true},
		{"sister site", "POST", []string{"Origin", "http://a." + host, "Sec-Fetch-Site", "same-site"}, true},
		{"other port", "POST", []string{"Origin", "http://127.0.0.1:1"}, true},
		{"sandboxed page", "POST", []string{"Origin", "null"}, true},
		{"foreign read", "GET", []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, false},
		{"preflight", "OPTIONS", []string{"Origin", "https://evil.example", "Access-Control-Request-Method", "POST"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := f.request(c.method, "/api/v1/query?query=1", strings.NewReader(""), append(c.headers, "Content-Type", "application/x-www-form-urlencoded")...)
			a := f.do(req)
			if got := a.status == http.StatusForbidden; got != c.refused {
				t.Errorf("status %d, refused should be %t: %.200s", a.status, c.refused, a.body)
			}
			if c.refused && a.env(t).Code != "cross_origin" {
				t.Errorf("code %q", a.env(t).Code)
			}
			for h := range a.header {
				if strings.HasPrefix(h, "Access-Control-") {
					t.Errorf("answer carries %s", h)
				}
			}
		})
	}
}

func TestBrowserHeaders(t *testing.T) {
	f := newFixture(t)
	for _, path := range []string{"/", "/assets/logo.svg", "/api/v1/query?query=1", "/api/nothing", "/metrics"} {
		h := f.get(path).header
		for k, v := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin"} {
			if h.Get(k) != v {
				t.Errorf("%s: %s is %q", path, k, h.Get(k))
			}
		}
		csp := h.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'self'", "script-src 'self';", "frame-ancestors 'none'", "object-src 'none'", "base-uri 'none'"} {
			if !strings.Contains(csp, part) {
				t.Errorf("%s: the policy lacks %s: %s", path, part, csp)
			}
		}
	}
}

const (
	readSecret  = "read-0123456789abcdef"
	writeSecret = "write-0123456789abcdef"
	adminSecret = "admin-0123456789abcdef"
	allSecret   = "all-0123456789abcdef"
)

func withTokens(c *Config, _ *Deps) {
	c.Tokens = []Token{
		{Name: "grafana", Secret: readSecret, Scopes: []Scope{ScopeRead}},
		{Name: "agent", Secret: writeSecret, Scopes: []Scope{ScopeWrite}},
		{Name: "root", Secret: adminSecret, Scopes: []Scope{ScopeAdmin}},
		{Name: "all", Secret: allSecret, Scopes: []Scope{ScopeRead, ScopeWrite, ScopeAdmin}},
	}
}

func TestTokens(t *testing.T) {
	f := newFixture(t, withTokens)
	open := newFixture(t)
	const (
		read, status = "GET /api/v1/query?query=1", "GET /api/v1/sightline/status"
		writes, otlp = "POST /api/v1/write", "POST /api/v1/otlp/v1/metrics"
		admin, pool  = "POST /api/v1/admin/tsdb/clean_tombstones", "GET /api/v1/scrape_pools/config?scrapePool=engines"
		health, page = "GET /healthz", "GET /now"
	)
	for _, c := range []struct {
		f             *fixture
		what, header  string
		code          string // "" passes the guard
		authenticates bool
	}{
		{f: open, what: read}, {f: open, what: status}, {f: open, what: writes}, {f: open, what: health}, {f: open, what: page},
		{f: open, what: read, header: "Bearer stale-token-of-another-server"},
		{f: open, what: admin, code: "token_missing"},
		{f: open, what: pool, code: "token_missing"},
		{f: open, what: admin, header: "Bearer " + adminSecret, code: "token_unknown"},

		{f: f, what: health}, {f: f, what: page},
		{f: f, what: read, code: "token_missing"},
		{f: f, what: "GET /metrics", code: "token_missing"},
		{f: f, what: "GET /federate", code: "token_missing"},
		{f: f, what: status, code: "token_missing"},
		{f: f, what: read, header: "Bearer " + readSecret},
		{f: f, what: read, header: "bearer " + readSecret},
		{f: f, what: read, header: "Bearer " + readSecret + "x", code: "token_unknown"},
		{f: f, what: read, header: "Bearer " + readSecret[:len(readSecret)-1], code: "token_unknown"},
		{f: f, what: read, header: "Bearer", code: "token_unknown"},
		{f: f, what: read, header: "Basic " + readSecret, code: "token_unknown"},
		{f: f, what: read, header: "Bearer " + writeSecret, code: "scope_missing"},
		{f: f, what: writes, header: "Bearer " + readSecret, code: "scope_missing"},
		{f: f, what: writes, header: "Bearer " + writeSecret},
		{f: f, what: otlp, code: "token_missing"},
		{f: f, what: otlp, header: "Bearer " + writeSecret},
		{f: f, what: admin, header: "Bearer " + readSecret, code: "scope_missing"},
		{f: f, what: admin, header: "Bearer " + adminSecret},
		{f: f, what: read, header: "Bearer " + adminSecret, code: "scope_missing"},
		{f: f, what: admin, header: "Bearer " + allSecret},
	} {
		method, path, _ := strings.Cut(c.what, " ")
		req := c.f.request(method, path, strings.NewReader(""))
		if c.header != "" {
			req.Header.Set("Authorization", c.header)
		}
		a := c.f.do(req)
		switch {
		case c.code == "" && (a.status == 401 || a.status == 403):
			t.Errorf("%s with %q: refused: %.200s", c.what, c.header, a.body)
		case c.code != "":
			if a.status != 401 || a.env(t).Code != c.code || a.env(t).Hint == "" {
				t.Errorf("%s with %q: %d %.200s, want code %s", c.what, c.header, a.status, a.body, c.code)
			}
			if !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("%s: no challenge", c.what)
			}
		}
		for _, s := range []string{readSecret, writeSecret, adminSecret} {
			if strings.Contains(string(a.body), s) {
				t.Errorf("%s: a secret is in the answer", c.what)
			}
		}
	}
}

func TestEveryRouteNeedsItsScope(t *testing.T) {
	f := newFixture(t, withTokens)
	public := map[string]bool{"/healthz": true, "/readyz": true, "/-/healthy": true, "/-/ready": true,
		"/api/v1/sightline/session": true, "/api/v1/sightline/login": true, "/api/v1/sightline/logout": true}
	for _, rt := range f.api.routes {
		method, _, _ := strings.Cut(rt.methods, ",")
		a := f.do(f.request(method, strings.ReplaceAll(rt.path, "{name}", "job"), strings.NewReader("")))
		isOpen := a.status != 401 || a.env(t).Code == "token_missing" && rt.path == "/api/v1/sightline/login"
		if isOpen != public[rt.path] {
			t.Errorf("%s without token: %d", rt.path, a.status)
		}
	}
}

func TestTokenConfiguration(t *testing.T) {
	ok := Token{Name: "a", Secret: readSecret, Scopes: []Scope{ScopeRead}}
	for name, ts := range map[string][]Token{
		"no name":      {{Secret: readSecret, Scopes: []Scope{ScopeRead}}},
		"odd name":     {{Name: "a\nb", Secret: readSecret, Scopes: []Scope{ScopeRead}}},
		"short":        {{Name: "a", Secret: "0123456789abcde", Scopes: []Scope{ScopeRead}}},
		"no scope":     {{Name: "a", Secret: readSecret}},
		"odd scope":    {{Name: "a", Secret: readSecret, Scopes: []Scope{"root"}}},
		"public scope": {{Name: "a", Secret: readSecret, Scopes: []Scope{ScopePublic}}},
		"same name":    {ok, {Name: "a", Secret: writeSecret, Scopes: []Scope{ScopeRead}}},
		"same secret":  {ok, {Name: "b", Secret: readSecret, Scopes: []Scope{ScopeRead}}},
	} {
		err := validateTokens(ts)
		if model.CodeOf(err) != "token_invalid" {
			t.Errorf("%s: %v", name, err)
		} else if strings.Contains(err.Error(), readSecret) {
			t.Errorf("%s: the secret is in the error", name)
		}
	}
	if err := validateTokens([]Token{ok}); err != nil {
		t.Error(err)
	}
}

func TestKeyringKeepsNoSecret(t *testing.T) {
	f := newFixture(t, withTokens)
	if f.api.cfg.Tokens != nil {
		t.Error("the configuration still holds the secrets")
	}
	a, err := newKeyring([]Token{{Name: "a", Secret: readSecret}})
	if err != nil {
		t.Fatal(err)
	}
	b, _ := newKeyring([]Token{{Name: "a", Secret: readSecret}})
	if a.tokens[0].sum == b.tokens[0].sum {
		t.Error("hashes of two processes are equal: the key is not random")
	}
}

func TestLogin(t *testing.T) {
	f := newFixture(t, withTokens)
	for body, code := range map[string]string{
		`{`: "body_invalid", `{}`: "token_missing", `{"token":"nobody-knows-this-one"}`: "token_unknown", `{"token":"` + writeSecret + `"}`: "scope_missing",
	} {
		if a := f.post("/api/v1/sightline/login", body); a.env(t).Code != code || a.header.Get("Set-Cookie") != "" {
			t.Errorf("login with %s: %d %.200s, want %s", body, a.status, a.body, code)
		}
	}
	if a := f.post("/api/v1/sightline/login", `{"token":"`+allSecret+`"}`, "Origin", "https://evil.example"); a.status != 403 {
		t.Errorf("login from a foreign page: %d", a.status)
	}
	a := f.post("/api/v1/sightline/login", `{"token":"`+allSecret+`"}`)
	raw := a.header.Get("Set-Cookie")
	for _, part := range []string{"HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"} {
		if !strings.Contains(raw, part) {
			t.Errorf("cookie lacks %s: %s", part, raw)
		}
	}
	if strings.Contains(raw, allSecret) {
		t.Error("the cookie holds the token")
	}
	c, err := http.ParseSetCookie(raw)
	if err != nil {
		t.Fatal(err)
	}
	cookie := c.Name + "=" + c.Value
	if a := f.get("/api/v1/query?query=1", "Cookie", cookie); a.status != 200 {
		t.Errorf("read after login: %d %s", a.status, a.body)
	}
	if a := f.post("/api/v1/write", "", "Cookie", cookie); a.env(t).Code != "scope_missing" {
		t.Errorf("write by cookie: %d %s", a.status, a.body)
	}
	if a := f.get("/api/v1/query?query=1", "Cookie", cookie+"x"); a.env(t).Code != "token_unknown" {
		t.Errorf("a forged cookie: %d", a.status)
	}
	if a := f.get("/api/v1/sightline/session", "Cookie", cookie); !strings.Contains(string(a.body), `"name":"all"`) {
		t.Errorf("session: %s", a.body)
	}
	if a := f.get("/api/v1/sightline/session"); !strings.Contains(string(a.body), `"token_required":true,"scopes":[]`) {
		t.Errorf("session of a stranger: %s", a.body)
	}
	if a := f.post("/api/v1/sightline/logout", "", "Cookie", cookie); a.status != 200 || !strings.Contains(a.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("logout: %d %s", a.status, a.header.Get("Set-Cookie"))
	}
	if a := f.get("/api/v1/query?query=1", "Cookie", cookie); a.env(t).Code != "token_unknown" {
		t.Errorf("after logout the cookie still works: %d", a.status)
	}
}

func TestSecureCookieUnderTLS(t *testing.T) {
	f := newFixture(t, withTokens, func(c *Config, _ *Deps) { c.TLS = true })
	if a := f.post("/api/v1/sightline/login", `{"token":"`+readSecret+`"}`); !strings.Contains(a.header.Get("Set-Cookie"), "Secure") {
		t.Errorf("cookie under TLS is not Secure: %s", a.header.Get("Set-Cookie"))
	}
}

func TestSessionsEndAndAreBounded(t *testing.T) {
	now := time.Unix(1000, 0)
	s := newSessions(time.Hour, func() time.Time { return now })
	first, _ := s.add(identity{name: "first"})
	now = now.Add(time.Second)
	for range maxSessions - 1 {
		if _, err := s.add(identity{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := s.find(first); !ok {
		t.Fatal("the first session is gone too early")
	}
	last, _ := s.add(identity{name: "last"})
	if _, ok := s.find(first); ok || len(s.all) != maxSessions {
		t.Errorf("the oldest stays, %d sessions", len(s.all))
	}
	now = now.Add(time.Hour)
	if _, ok := s.find(last); ok {
		t.Error("a session outlives its life")
	}
	if _, err := s.add(identity{}); err != nil || len(s.all) != 1 {
		t.Errorf("ended sessions stay: %d", len(s.all))
	}
}

func TestStrangersSeeNoSentences(t *testing.T) {
	f := newFixture(t, withTokens)
	f.health.SetPart("store", health.Ready, "opened /var/lib/secret-place")
	if a := f.get("/readyz"); strings.Contains(string(a.body), "secret-place") {
		t.Errorf("readyz tells strangers: %s", a.body)
	}
	if a := f.get("/readyz", "Authorization", "Bearer "+readSecret); !strings.Contains(string(a.body), "secret-place") {
		t.Errorf("readyz does not tell readers: %s", a.body)
	}
}
