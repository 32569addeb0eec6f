package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"sightline/internal/model"
)

// identity is who a request comes from. The zero value is an anonymous client
// of a server without tokens.
type identity struct {
	name   string
	scopes []Scope
}

type identityKey struct{}

func identityOf(ctx context.Context) identity {
	id, _ := ctx.Value(identityKey{}).(identity)
	return id
}

// authenticator decides who may use a route.
type authenticator struct {
	keys     *keyring
	sessions *sessions
}

// open reports whether the server has no tokens at all.
func (a *authenticator) open() bool { return len(a.keys.tokens) == 0 }

// identify reads the bearer token, else the login cookie. present is false when
// the request brings neither.
func (a *authenticator) identify(r *http.Request) (id identity, present, known bool) {
	if h := r.Header.Get("Authorization"); h != "" {
		scheme, secret, _ := strings.Cut(h, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return identity{}, true, false
		}
		t, ok := a.keys.find(strings.TrimSpace(secret))
		return identity{name: t.name, scopes: t.scopes}, true, ok
	}
	if c, err := r.Cookie(sessionCookie); err == nil {
		id, ok := a.sessions.find(c.Value)
		return id, true, ok
	}
	return identity{}, false, false
}

// authorize returns the identity, or a *model.Problem with code token_missing,
// token_unknown or scope_missing.
func (a *authenticator) authorize(r *http.Request, need Scope) (identity, error) {
	if need == ScopePublic || (a.open() && need != ScopeAdmin) {
		return identity{}, nil
	}
	id, present, known := a.identify(r)
	switch {
	case !present:
		hint := fmt.Sprintf("send Authorization: Bearer with a token of scope %s, or log in", need)
		if a.open() {
			hint = fmt.Sprintf("configure a token with scope %s and send it as Authorization: Bearer", need)
		}
		return identity{}, &model.Problem{Code: "token_missing", Text: "this needs a token", Hint: hint}
	case !known:
		return identity{}, &model.Problem{Code: "token_unknown", Text: "the token or login of the request is not known", Hint: "check the token, or log in again"}
	case !slices.Contains(id.scopes, need):
		return identity{}, &model.Problem{Code: "scope_missing", Text: fmt.Sprintf("%q lacks the scope %s", id.name, need), Hint: "use a token that has it"}
	}
	return id, nil
}

// wrap lets through who has the scope.
func (a *authenticator) wrap(need Scope, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, err := a.authorize(r, need)
		if err != nil {
			w.Header().Set("WWW-Authenticate", challenge(err))
			writeProblem(w, r, http.StatusUnauthorized, "unauthorized", err)
			return
		}
		// What is behind must not see, log or forward the secret.
		r.Header.Del("Authorization")
		r.Header.Del("Cookie")
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), identityKey{}, id)))
	})
}

// challenge is the WWW-Authenticate header of RFC 6750 section 3.
func challenge(err error) string {
	switch model.CodeOf(err) {
	case "token_unknown":
		return `Bearer realm="sightline", error="invalid_token"`
	case "scope_missing":
		return `Bearer realm="sightline", error="insufficient_scope"`
	}
	return `Bearer realm="sightline"`
}
