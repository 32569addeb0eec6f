// Package config is the one strict YAML file that every role reads, its defaults,
// its validation and the value types in it. It starts nothing and knows none of
// the server's parts, so that the agent can use it as well.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"sightline/internal/model"
)

// Config is the whole configuration: one strict YAML file (sightline.yaml),
// overridden by flags. Every field has a default that suits a first user.
type Config struct {
	// Listen is host:port of the one HTTP listener.
	Listen string `yaml:"listen"`
	// Data is the directory that holds everything durable.
	Data string `yaml:"data"`
	// InsecureListen permits a non-loopback listener without TLS and token.
	InsecureListen bool     `yaml:"insecure_listen"`
	AllowedHosts   []string `yaml:"allowed_hosts"`

	TLS    TLSConfig     `yaml:"tls"`
	Tokens []TokenConfig `yaml:"tokens"`
	Log    LogConfig     `yaml:"log"`

	Storage StorageConfig `yaml:"storage"`
	Query   QueryConfig   `yaml:"query"`
	Ingest  IngestConfig  `yaml:"ingest"`
	Scrape  ScrapeConfig  `yaml:"scrape"`
	Rules   RulesConfig   `yaml:"rules"`
}

// TLSConfig names a certificate chain and its key, both PEM files.
type TLSConfig struct {
	CertFile string `yaml:"cert_file"`
	KeyFile  string `yaml:"key_file"`
}

// TokenConfig is one bearer token and what it may do. Exactly one of Token and
// TokenFile is set.
type TokenConfig struct {
	Name      string   `yaml:"name"`
	Scopes    []string `yaml:"scopes"`
	Token     Secret   `yaml:"token"`
	TokenFile string   `yaml:"token_file"`
}

// LogConfig sets level (debug, info, warn, error) and format (text, json).
type LogConfig struct {
	Level  string `yaml:"level"`
	Format string `yaml:"format"`
}

// StorageConfig holds one section for each kind of record.
type StorageConfig struct {
	Metrics MetricsConfig `yaml:"metrics"`
}

// MetricsConfig bounds the embedded series store.
type MetricsConfig struct {
	Retention        Duration `yaml:"retention"`
	RetentionBytes   Bytes    `yaml:"retention_bytes"`
	OutOfOrderWindow Duration `yaml:"out_of_order_window"`
	MaxExemplars     int64    `yaml:"max_exemplars"`
}

// QueryConfig bounds what one query may cost.
type QueryConfig struct {
	Timeout     Duration `yaml:"timeout"`
	MaxSamples  int      `yaml:"max_samples"`
	Concurrency int      `yaml:"concurrency"`
	Lookback    Duration `yaml:"lookback"`
}

// IngestConfig bounds what arrives by remote write and OTLP.
type IngestConfig struct {
	SeriesLimit     int      `yaml:"series_limit"`
	BodySizeLimit   Bytes    `yaml:"body_size_limit"`
	FutureTolerance Duration `yaml:"future_tolerance"`
}

// ScrapeConfig says what is scraped and within which bounds.
type ScrapeConfig struct {
	Interval      Duration          `yaml:"interval"`
	Timeout       Duration          `yaml:"timeout"`
	BodySizeLimit Bytes             `yaml:"body_size_limit"`
	SeriesLimit   int               `yaml:"series_limit"`
	Targets       []Target          `yaml:"targets"`
	Files         []string          `yaml:"files"`
	HTTP          []string          `yaml:"http"`
	DNS           []DNSConfig       `yaml:"dns"`
	AllowAddress  []string          `yaml:"allow_addresses"`
	Labels        map[string]string `yaml:"labels"`
}

// Target is one exposition to scrape and the identity of what it shows.
type Target struct {
	URL       string            `yaml:"url"`
	Service   string            `yaml:"service"`
	Instance  string            `yaml:"instance"`
	Namespace string            `yaml:"namespace"`
	Pod       string            `yaml:"pod"`
	Node      string            `yaml:"node"`
	Cluster   string            `yaml:"cluster"`
	Region    string            `yaml:"region"`
	Labels    map[string]string `yaml:"labels"`
	Interval  Duration          `yaml:"interval"`
	Timeout   Duration          `yaml:"timeout"`
}

// DNSConfig discovers targets by DNS: the names of SRV records, or of A records
// with a port.
type DNSConfig struct {
	Names   []string `yaml:"names"`
	Type    string   `yaml:"type"`
	Port    int      `yaml:"port"`
	Service string   `yaml:"service"`
}

// RulesConfig drives the live evaluation of dialects and of the user's rules.
type RulesConfig struct {
	Interval    Duration `yaml:"interval"`
	QueryOffset Duration `yaml:"query_offset"`
	Files       []string `yaml:"files"`
}

// Default is what a first user gets without a file.
func Default() Config {
	return Config{
		Listen: "127.0.0.1:7070",
		Data:   "sightline-data",
		Log:    LogConfig{Level: "info", Format: "text"},
		Storage: StorageConfig{Metrics: MetricsConfig{
			Retention: Duration(15 * 24 * time.Hour), OutOfOrderWindow: Duration(24 * time.Hour), MaxExemplars: 100_000,
		}},
		Query:  QueryConfig{Timeout: Duration(30 * time.Second), MaxSamples: 50_000_000, Concurrency: 20, Lookback: Duration(5 * time.Minute)},
		Ingest: IngestConfig{SeriesLimit: 500_000, BodySizeLimit: 64 << 20, FutureTolerance: Duration(10 * time.Minute)},
		Scrape: ScrapeConfig{Interval: Duration(5 * time.Second), Timeout: Duration(4 * time.Second), BodySizeLimit: 48 << 20, SeriesLimit: 50_000},
		Rules:  RulesConfig{Interval: Duration(5 * time.Second), QueryOffset: Duration(time.Second)},
	}
}

// Load reads path over the defaults. An unknown key, a wrong type or a
// second document is an error that names line and nearest key. The result is
// not yet validated: flags come after it.
func Load(path string) (Config, error) {
	c := Default()
	b, err := os.ReadFile(path)
	if err != nil {
		code, hint := "config_unreadable", "check the path and its permissions"
		if errors.Is(err, fs.ErrNotExist) {
			code, hint = "config_missing", "give the path of a sightline.yaml; without one the defaults are used"
		}
		return c, &model.Problem{Code: code, Text: fmt.Sprintf("configuration file %s cannot be read", path), Hint: hint, Err: err}
	}
	if err := decodeStrict(b, path, &c); err != nil {
		return c, err
	}
	return c, nil
}

// Validate checks the whole configuration before anything starts and reports
// every fault at once.
func (c Config) Validate() error {
	var faults []error
	bad := func(key, format string, a ...any) {
		faults = append(faults, &model.Problem{Code: "config_invalid", Text: key + ": " + fmt.Sprintf(format, a...)})
	}
	if c.Data == "" {
		bad("data", "is empty; name a directory")
	}
	if (c.TLS.CertFile == "") != (c.TLS.KeyFile == "") {
		bad("tls", "needs cert_file and key_file together")
	}
	switch c.Log.Level {
	case "debug", "info", "warn", "error":
	default:
		bad("log.level", "%q is none of debug, info, warn, error", c.Log.Level)
	}
	if c.Log.Format != "text" && c.Log.Format != "json" {
		bad("log.format", "%q is neither text nor json", c.Log.Format)
	}
	names := map[string]bool{}
	for i, t := range c.Tokens {
		key := fmt.Sprintf("tokens[%d]", i)
		if t.Name == "" || names[t.Name] {
			bad(key+".name", "%q is empty or used twice", t.Name)
		}
		names[t.Name] = true
		if (t.Token == "") == (t.TokenFile == "") {
			bad(key, "needs exactly one of token and token_file")
		}
		if t.Token != "" && len(t.Token) < 16 {
			bad(key+".token", "is shorter than 16 characters; make one with `openssl rand -hex 32`")
		}
		if len(t.Scopes) == 0 {
			bad(key+".scopes", "is empty; choose from read, write, admin, mcp")
		}
		for _, s := range t.Scopes {
			switch s {
			case "read", "write", "admin", "mcp":
			default:
				bad(key+".scopes", "%q is none of read, write, admin, mcp", s)
			}
		}
	}
	positive := func(key string, d Duration) {
		if d <= 0 {
			bad(key, "%s must be more than zero", d)
		}
	}
	positive("storage.metrics.retention", c.Storage.Metrics.Retention)
	positive("query.timeout", c.Query.Timeout)
	positive("query.lookback", c.Query.Lookback)
	positive("scrape.interval", c.Scrape.Interval)
	positive("scrape.timeout", c.Scrape.Timeout)
	positive("rules.interval", c.Rules.Interval)
	if c.Storage.Metrics.OutOfOrderWindow < 0 {
		bad("storage.metrics.out_of_order_window", "%s is negative", c.Storage.Metrics.OutOfOrderWindow)
	}
	if c.Rules.QueryOffset < 0 {
		bad("rules.query_offset", "%s is negative", c.Rules.QueryOffset)
	}
	if c.Scrape.Timeout > c.Scrape.Interval {
		bad("scrape.timeout", "%s is longer than scrape.interval %s", c.Scrape.Timeout, c.Scrape.Interval)
	}
	if c.Query.MaxSamples <= 0 || c.Query.Concurrency <= 0 {
		bad("query", "max_samples and concurrency must be more than zero")
	}
	if c.Scrape.SeriesLimit <= 0 || c.Ingest.SeriesLimit <= 0 {
		bad("series_limit", "must be more than zero in scrape and ingest")
	}
	for i, t := range c.Scrape.Targets {
		if err := checkTargetURL(t.URL); err != nil {
			bad(fmt.Sprintf("scrape.targets[%d].url", i), "%v", err)
		}
		if t.Timeout > 0 && t.Interval > 0 && t.Timeout > t.Interval {
			bad(fmt.Sprintf("scrape.targets[%d].timeout", i), "%s is longer than its interval %s", t.Timeout, t.Interval)
		}
	}
	return errors.Join(faults...)
}

// checkTargetURL accepts host:port, and http or https URLs with or without a
// path; credentials in a URL are refused because they would show in labels.
func checkTargetURL(s string) error {
	if s == "" {
		return errors.New("is empty; write http://HOST:PORT/metrics")
	}
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	u, err := url.Parse(s)
	if err != nil {
		return fmt.Errorf("%q is no URL; write http://HOST:PORT/metrics", s)
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%q has scheme %q; use http or https", s, u.Scheme)
	}
	if u.Host == "" || u.Hostname() == "" {
		return fmt.Errorf("%q names no host; write http://HOST:PORT/metrics", s)
	}
	if u.User != nil {
		return fmt.Errorf("URL of host %q carries credentials, which would show in labels and logs; remove them", u.Hostname())
	}
	return nil
}

// YAML renders the running configuration with secrets replaced.
func (c Config) YAML() string {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(c); err != nil {
		return "# " + err.Error()
	}
	return b.String()
}
