package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sightline/internal/model"
)

func write(t *testing.T, text string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "sightline.yaml")
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDefaultsAreValid(t *testing.T) {
	if err := Default().Validate(); err != nil {
		t.Fatal(err)
	}
}

func TestGoodFilesLoad(t *testing.T) {
	files, err := filepath.Glob("testdata/*.good.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no good files", err)
	}
	for _, f := range files {
		c, err := Load(f)
		if err == nil {
			err = c.Validate()
		}
		if err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
	c, _ := Load("testdata/full.good.yaml")
	if c.Scrape.Targets[0].Service != "vision" || time.Duration(c.Storage.Metrics.Retention) != 30*24*time.Hour || c.Ingest.BodySizeLimit != 32<<20 {
		t.Errorf("values of the full file did not arrive: %+v", c)
	}
	if c.Query.Concurrency != 20 {
		t.Error("a key that the file leaves out lost its default")
	}
}

func TestBadFilesSayLineAndNearestKey(t *testing.T) {
	for _, tc := range []struct{ name, text, code, want string }{
		{"typo", "listen: 127.0.0.1:1\nscrap:\n  interval: 5s\n", "config_unknown_key", `:2: unknown key "scrap"; did you mean "scrape"?`},
		{"nested", "scrape:\n  targets:\n    - url: http://h:1\n      sevice: x\n", "config_unknown_key", `:4: unknown key "scrape.targets[0].sevice"; did you mean "scrape.targets[0].service"?`},
		{"far", "tls:\n  zebra: 1\n", "config_unknown_key", `:2: unknown key "tls.zebra"; known here: cert_file, key_file`},
		{"duration", "rules:\n  interval: soon\n", "config_type", `"soon" is no duration`},
		{"bytes", "ingest:\n  body_size_limit: lots\n", "config_type", `"lots" is no size`},
		{"type", "query:\n  concurrency: many\n", "config_type", "line 2"},
		{"repeat", "data: a\ndata: b\n", "config_type", `"data" already defined`},
		{"syntax", "listen: [\n", "config_syntax", "line"},
		{"two documents", "data: a\n---\ndata: b\n", "config_syntax", "more than one"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Load(write(t, tc.text))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("error %v, want it to hold %q", err, tc.want)
			}
			if got := model.CodeOf(err); got != tc.code {
				t.Errorf("code %q, want %q", got, tc.code)
			}
		})
	}
	if _, err := Load("/nowhere/sightline.yaml"); model.CodeOf(err) != "config_missing" {
		t.Errorf("missing file: %v", err)
	}
	if c, err := Load(write(t, "")); err != nil || c.Listen != "127.0.0.1:7070" {
		t.Errorf("empty file: %v", err)
	}
}

func TestValidateReportsEveryFault(t *testing.T) {
	c := Default()
	c.Data = ""
	c.Log.Level = "loud"
	c.TLS.CertFile = "x"
	c.Tokens = []TokenConfig{{Name: "a", Scopes: []string{"root"}, Token: "short"}, {Name: "a"}}
	c.Scrape.Timeout = Duration(time.Minute)
	c.Scrape.Targets = []Target{{URL: "ftp://x"}, {URL: "http://user:pw@h:1"}, {URL: ""}}
	c.Rules.Interval = 0
	err := c.Validate()
	if err == nil {
		t.Fatal("passes")
	}
	for _, want := range []string{"data:", "log.level:", "tls:", `"root" is none`, "shorter than 16", `tokens[1].name: "a" is empty or used twice`, "tokens[1]: needs exactly one", "scrape.timeout:", `scheme "ftp"`, "carries credentials", "targets[2].url: is empty", "rules.interval:"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no word of %q in\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "pw") {
		t.Error("a password from a URL is printed")
	}
}

func TestSecretsAreNeverPrinted(t *testing.T) {
	c := Default()
	c.Tokens = []TokenConfig{{Name: "a", Scopes: []string{"read"}, Token: "0123456789abcdef-canary"}}
	if s := c.YAML(); strings.Contains(s, "canary") || !strings.Contains(s, "<secret>") {
		t.Errorf("the token shows:\n%s", s)
	}
	p := write(t, c.YAML())
	if _, err := Load(p); err != nil {
		t.Errorf("the printed configuration cannot be read again: %v", err)
	}
}

func FuzzDecodeStrict(f *testing.F) {
	f.Add([]byte("listen: x\nscrape: {targets: [{url: a}]}\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("query: {timeout: 1h30m}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := Default()
		if decodeStrict(b, "f", &c) == nil {
			_ = c.Validate()
			_ = c.YAML()
		}
	})
}
