package api

import (
	"fmt"
	"time"

	"sightline/internal/model"
)

// Config bounds and secures the HTTP face. It is plain data: the caller reads
// flags, files and environment.
type Config struct {
	// Listen is the host:port that the caller's listener binds; its host is an
	// accepted Host header.
	Listen string
	// AllowedHosts are further accepted Host headers, without port. An entry
	// "*.example.org" accepts every name below example.org, "*" every name.
	AllowedHosts []string
	// TLS says that the listener speaks TLS: login cookies are then Secure.
	TLS bool
	// Tokens are the bearer tokens; with none, everything but the admin API is
	// open. Their secrets are hashed by New and not kept.
	Tokens []Token

	// Version is this product's version, shown in status and build information.
	Version string
	// Role is up, serve or demo.
	Role string
	// DataDir is where snapshots of the admin API are put (DataDir/snapshots).
	DataDir string
	// Retention is shown in runtime information; zero means unlimited.
	Retention time.Duration
	// Flags are shown at /api/v1/status/flags. Values whose name speaks of a
	// token, password, secret or key are replaced by <secret>.
	Flags map[string]string

	// WriteBodyLimit bounds a remote write or OTLP body in bytes, before and
	// after decompression. The protobuf decoders behind it stop at 32 MiB.
	WriteBodyLimit int64
	// FormBodyLimit bounds every other request body in bytes.
	FormBodyLimit int64
	// URLLimit bounds path and query in bytes.
	URLLimit int
	// QueryConcurrency is how many queries run at once; one more waits up to
	// QueryWait and is then answered 503 with Retry-After.
	QueryConcurrency int
	QueryWait        time.Duration
	// QueryTimeout is the longest a query may run, LookbackDelta how far back an
	// instant query looks for a sample.
	QueryTimeout  time.Duration
	LookbackDelta time.Duration
	// SessionLife is how long a browser stays logged in.
	SessionLife time.Duration
	// PromoteResourceAttributes are OTLP resource attributes that become labels
	// of every series of the resource.
	PromoteResourceAttributes []string
}

// DefaultConfig is what serves one machine: 64 MiB writes, 20 queries at once.
func DefaultConfig() Config {
	return Config{
		Listen:           "127.0.0.1:7070",
		Version:          "dev",
		Role:             "serve",
		WriteBodyLimit:   64 << 20,
		FormBodyLimit:    1 << 20,
		URLLimit:         32 << 10,
		QueryConcurrency: 20,
		QueryWait:        2 * time.Second,
		QueryTimeout:     30 * time.Second,
		LookbackDelta:    5 * time.Minute,
		SessionLife:      12 * time.Hour,
		// The attributes that carry our identity labels in the OpenTelemetry
		// semantic conventions for Kubernetes and services.
		PromoteResourceAttributes: []string{
			"service.name", "service.namespace", "service.version", "service.instance.id",
			"k8s.cluster.name", "k8s.namespace.name", "k8s.pod.name", "k8s.node.name", "host.name",
		},
	}
}

// Validate refuses a configuration that cannot serve; the error is a
// *model.Problem.
func (c Config) Validate() error {
	for _, v := range []struct {
		name string
		bad  bool
		val  any
	}{
		{"write body limit", c.WriteBodyLimit <= 0, c.WriteBodyLimit},
		{"form body limit", c.FormBodyLimit <= 0, c.FormBodyLimit},
		{"url limit", c.URLLimit < 1024, c.URLLimit},
		{"query concurrency", c.QueryConcurrency <= 0, c.QueryConcurrency},
		{"query wait", c.QueryWait < 0, c.QueryWait},
		{"query timeout", c.QueryTimeout <= 0, c.QueryTimeout},
		{"lookback", c.LookbackDelta <= 0, c.LookbackDelta},
		{"session life", c.SessionLife <= 0, c.SessionLife},
	} {
		if v.bad {
			return &model.Problem{Code: "config_invalid", Text: fmt.Sprintf("%s is %v", v.name, v.val), Hint: "set it above zero (url limit: at least 1024 bytes)"}
		}
	}
	return validateTokens(c.Tokens)
}
