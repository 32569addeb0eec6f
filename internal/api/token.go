package api

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"slices"

	"sightline/internal/model"
)

// Scope is what a token may do. Scopes do not imply each other.
type Scope string

// The scopes. Public is not given to tokens: it marks routes open to all.
const (
	ScopePublic Scope = ""
	// ScopeRead is the console and every query.
	ScopeRead Scope = "read"
	// ScopeWrite is remote write and OTLP.
	ScopeWrite Scope = "write"
	// ScopeAdmin is deletion and snapshots.
	ScopeAdmin Scope = "admin"
	// ScopeMCP is the tool interface for language models.
	ScopeMCP Scope = "mcp"
)

// Token is one bearer token. Name goes into logs and source names, Secret never.
type Token struct {
	Name   string
	Secret string
	Scopes []Scope
}

// minSecret is the shortest accepted secret: 16 characters of a random
// alphabet of 16 are 64 bits, out of reach for guessing over the network.
const minSecret = 16

func validateTokens(ts []Token) error {
	names := map[string]bool{}
	secrets := map[string]bool{}
	for i, t := range ts {
		what := fmt.Sprintf("token %q", t.Name)
		switch {
		case t.Name == "" || !plainName(t.Name):
			return &model.Problem{Code: "token_invalid", Text: fmt.Sprintf("token number %d has no usable name", i+1), Hint: "name it with at most 128 letters, digits or . _ - / : @"}
		case names[t.Name]:
			return &model.Problem{Code: "token_invalid", Text: what + " is configured twice", Hint: "give every token its own name"}
		case len(t.Secret) < minSecret:
			return &model.Problem{Code: "token_invalid", Text: fmt.Sprintf("%s has fewer than %d characters", what, minSecret), Hint: "generate one, for example with: openssl rand -hex 24"}
		case secrets[t.Secret]:
			return &model.Problem{Code: "token_invalid", Text: what + " has the secret of another token", Hint: "generate one for each"}
		case len(t.Scopes) == 0:
			return &model.Problem{Code: "token_invalid", Text: what + " has no scope", Hint: "give it some of read, write, admin, mcp"}
		}
		for _, s := range t.Scopes {
			if !slices.Contains([]Scope{ScopeRead, ScopeWrite, ScopeAdmin, ScopeMCP}, s) {
				return &model.Problem{Code: "token_invalid", Text: fmt.Sprintf("%s has the unknown scope %q", what, s), Hint: "use read, write, admin or mcp"}
			}
		}
		names[t.Name], secrets[t.Secret] = true, true
	}
	return nil
}

// keyring holds tokens as keyed hashes: a memory dump of the process does not
// give secrets that work.
type keyring struct {
	key    [32]byte
	tokens []hashedToken
}

type hashedToken struct {
	name   string
	sum    [sha256.Size]byte
	scopes []Scope
}

func newKeyring(ts []Token) (*keyring, error) {
	k := &keyring{}
	if _, err := rand.Read(k.key[:]); err != nil {
		return nil, &model.Problem{Code: "no_randomness", Text: "cannot read random bytes", Err: err}
	}
	for _, t := range ts {
		k.tokens = append(k.tokens, hashedToken{name: t.Name, sum: k.hash(t.Secret), scopes: slices.Clone(t.Scopes)})
	}
	return k, nil
}

func (k *keyring) hash(secret string) [sha256.Size]byte {
	m := hmac.New(sha256.New, k.key[:])
	m.Write([]byte(secret))
	return [sha256.Size]byte(m.Sum(nil))
}

// find compares secret with every token in constant time; the time it takes
// says neither which matched nor how far.
func (k *keyring) find(secret string) (hashedToken, bool) {
	sum := k.hash(secret)
	at := -1
	for i := range k.tokens {
		at = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], k.tokens[i].sum[:]), i, at)
	}
	if at < 0 {
		return hashedToken{}, false
	}
	return k.tokens[at], true
}

// plainName accepts what is safe in logs, labels and headers.
func plainName(s string) bool {
	if s == "" || len(s) > 128 {
		return false
	}
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case c == '.', c == '_', c == '-', c == '/', c == ':', c == '@':
		default:
			return false
		}
	}
	return true
}
