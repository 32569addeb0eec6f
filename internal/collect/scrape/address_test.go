package scrape

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"sightline/internal/model"
)

func TestParseURL(t *testing.T) {
	for in, want := range map[string]string{
		"host:8002":                  "http://host:8002/metrics",
		" http://host:8002 ":         "http://host:8002/metrics",
		"http://host:8002/":          "http://host:8002/metrics",
		"http://HOST:8002/metrics":   "http://host:8002/metrics",
		"host":                       "http://host:80/metrics",
		"https://host":               "https://host:443/metrics",
		"127.0.0.1:9400":             "http://127.0.0.1:9400/metrics",
		"[::1]:9400":                 "http://[::1]:9400/metrics",
		"host:1/federate?match[]=up": "http://host:1/federate?match%5B%5D=up",
		"https://h.example/a/b?x=1":  "https://h.example:443/a/b?x=1",
	} {
		u, err := ParseURL(in)
		if err != nil || u.String() != want {
			t.Errorf("%q: %v, %v, want %s", in, u, err, want)
		}
	}
	for in, code := range map[string]string{
		"": "target_url_invalid", "http://": "target_url_invalid", "ftp://h": "target_url_invalid", "h:0": "target_url_invalid",
		"h:99999": "target_url_invalid", "h:x": "target_url_invalid", "http://h/#f": "target_url_invalid", "not a url": "target_url_invalid",
		"http://u:p@h/": "target_url_credentials", "\xff:1": "target_url_invalid", "http://h/%zz": "target_url_invalid", "h:1/m?a=%zz": "target_url_invalid",
	} {
		if u, err := ParseURL(in); model.CodeOf(err) != code {
			t.Errorf("%q: %v, %v, want %s", in, u, err, code)
		}
	}
}

func TestParseFlag(t *testing.T) {
	for in, want := range map[string]TargetConfig{
		"vision=http://h:1":        {Service: "vision", URL: "http://h:1"},
		"h:1/federate?match[]=a=b": {URL: "h:1/federate?match[]=a=b"},
		"h:1":                      {URL: "h:1"},
	} {
		got, err := ParseFlag(in)
		if err != nil || got.Service != want.Service || got.URL != want.URL {
			t.Errorf("%q: %+v, %v", in, got, err)
		}
	}
	if _, err := ParseFlag("=h:1"); model.CodeOf(err) != "target_url_invalid" {
		t.Errorf("no service: %v", err)
	}
}

func TestLinkLocalAddressesAreRefusedAtTheDial(t *testing.T) {
	strict, err := newAddressPolicy(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []string{"169.254.169.254:80", "[fe80::1%lo]:80", "[::ffff:169.254.169.254]:80"} {
		conn, err := strict.dial(context.Background(), "tcp", a)
		var p *model.Problem
		if err == nil {
			_ = conn.Close()
		}
		if !errors.As(err, &p) || p.Code != "target_link_local" {
			t.Errorf("%s: %v", a, err)
		}
		if got := classify("http://x/metrics", err); got.Code != "target_link_local" {
			t.Errorf("classified as %s", got.Code)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := strict.dial(context.Background(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	listed, err := newAddressPolicy([]string{"169.254.10.0/24"})
	if err != nil {
		t.Fatal(err)
	}
	if listed.checkHost("169.254.10.7") != nil || listed.checkHost("169.254.11.7") == nil {
		t.Error("the list of allowed addresses is not kept")
	}
}

func FuzzParseURL(f *testing.F) {
	for _, s := range []string{"host:8002", "http://[::1]:1/x?y=z", "a=b", "http://u@h", "h:65536", "http://h/%2f", "//h", "http://h:80:80", "x://y", "[fe80::1%25eth0]:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if c, err := ParseFlag(s); err == nil {
			if _, err := ParseURL(c.URL); err != nil {
				t.Errorf("flag %q passes but its URL %q does not", s, c.URL)
			}
		}
		u, err := ParseURL(s)
		if err != nil {
			if code := model.CodeOf(err); !strings.HasPrefix(code, "target_url_") {
				t.Errorf("%q: code %s", s, code)
			}
			return
		}
		// What passes is a fixed point: a target has one spelling, its id.
		again, err := ParseURL(u.String())
		if err != nil || again.String() != u.String() {
			t.Errorf("%q became %q and then %v, %v", s, u, again, err)
		}
		if u.Port() == "" || u.Path == "" || u.User != nil {
			t.Errorf("%q became %q", s, u)
		}
		if err := (Config{Targets: []TargetConfig{{URL: s}}}).Validate(); err != nil && model.CodeOf(err) != "target_link_local" {
			t.Errorf("%q parses but cannot be configured: %v", s, err)
		}
	})
}
