package api

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"sightline/internal/model"
)

// sessionCookie names the login cookie.
const sessionCookie = "sightline_session"

// maxSessions bounds the logins that are remembered; the oldest goes first.
const maxSessions = 1000

// sessions remembers browser logins in memory, by the hash of the cookie. A
// restart logs everybody out.
type sessions struct {
	life time.Duration
	now  func() time.Time

	mu  sync.Mutex
	all map[[sha256.Size]byte]session
}

type session struct {
	id      identity
	expires time.Time
}

func newSessions(life time.Duration, now func() time.Time) *sessions {
	return &sessions{life: life, now: now, all: map[[sha256.Size]byte]session{}}
}

// add returns the cookie value of a new login.
func (s *sessions) add(id identity) (string, error) {
	var b [32]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", err
	}
	value := base64.RawURLEncoding.EncodeToString(b[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	var oldest [sha256.Size]byte
	first := true
	for k, v := range s.all {
		if !v.expires.After(now) {
			delete(s.all, k)
			continue
		}
		if first || v.expires.Before(s.all[oldest].expires) {
			oldest, first = k, false
		}
	}
	if len(s.all) >= maxSessions {
		delete(s.all, oldest)
	}
	s.all[sha256.Sum256([]byte(value))] = session{id: id, expires: now.Add(s.life)}
	return value, nil
}

func (s *sessions) find(value string) (identity, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.all[sha256.Sum256([]byte(value))]
	if !ok || !v.expires.After(s.now()) {
		return identity{}, false
	}
	return v.id, true
}

func (s *sessions) remove(value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, sha256.Sum256([]byte(value)))
}

// SessionAnswer tells the console whether it has to log in.
type SessionAnswer struct {
	// TokenRequired is true when the server has tokens.
	TokenRequired bool `json:"token_required"`
	// Name is the token's name, empty when anonymous.
	Name   string  `json:"name,omitempty"`
	Scopes []Scope `json:"scopes"`
}

func (a *API) serveSession(w http.ResponseWriter, r *http.Request) {
	ans := SessionAnswer{TokenRequired: !a.auth.open(), Scopes: []Scope{}}
	if a.auth.open() {
		ans.Scopes = []Scope{ScopeRead, ScopeWrite, ScopeMCP}
	} else if id, _, known := a.auth.identify(r); known {
		ans.Name, ans.Scopes = id.name, id.scopes
	}
	writeData(w, r, ans, nil)
}

// serveLogin exchanges a token for a cookie that scripts cannot read. The
// cookie carries only what a person at the console needs: read and admin.
func (a *API) serveLogin(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Token string `json:"token"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		writeProblem(w, r, http.StatusBadRequest, "bad_data", &model.Problem{Code: "body_invalid", Text: "the login body is not JSON", Hint: `send {"token": "…"}`})
		return
	}
	fail := func(code, text, hint string) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="sightline"`)
		writeProblem(w, r, http.StatusUnauthorized, "unauthorized", &model.Problem{Code: code, Text: text, Hint: hint})
	}
	if body.Token == "" {
		fail("token_missing", "the login has no token", `send {"token": "…"}`)
		return
	}
	t, ok := a.auth.keys.find(body.Token)
	if !ok {
		fail("token_unknown", "the token is not known", "check it for missing characters")
		return
	}
	id := identity{name: t.name}
	for _, s := range []Scope{ScopeRead, ScopeAdmin} {
		if slices.Contains(t.scopes, s) {
			id.scopes = append(id.scopes, s)
		}
	}
	if len(id.scopes) == 0 {
		fail("scope_missing", "the token has neither the scope read nor admin", "log in with one that has")
		return
	}
	value, err := a.auth.sessions.add(id)
	if err != nil {
		writeProblem(w, r, http.StatusInternalServerError, "internal", &model.Problem{Code: "no_randomness", Text: "cannot read random bytes", Err: err})
		return
	}
	http.SetCookie(w, a.cookie(r, value, int(a.cfg.SessionLife/time.Second)))
	writeData(w, r, SessionAnswer{TokenRequired: true, Name: id.name, Scopes: id.scopes}, nil)
}

func (a *API) serveLogout(w http.ResponseWriter, r *http.Request) {
	if c, err := r.Cookie(sessionCookie); err == nil {
		a.auth.sessions.remove(c.Value)
	}
	http.SetCookie(w, a.cookie(r, "", -1))
	writeData(w, r, SessionAnswer{TokenRequired: !a.auth.open(), Scopes: []Scope{}}, nil)
}

func (a *API) cookie(r *http.Request, value string, age int) *http.Cookie {
	return &http.Cookie{
		Name: sessionCookie, Value: value, Path: "/", MaxAge: age,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: a.cfg.TLS || r.TLS != nil,
	}
}
