package config

import (
	"testing"

	"sightline/internal/model"
)

func TestParseTarget(t *testing.T) {
	for _, tc := range []struct{ in, service, url, code string }{
		{"http://h:8002/metrics", "", "http://h:8002/metrics", ""},
		{"h:8002", "", "h:8002", ""},
		{"vision=http://h:8002/metrics", "vision", "http://h:8002/metrics", ""},
		{"vision=h:8002", "vision", "h:8002", ""},
		{"http://h:8002/metrics?a=b", "", "http://h:8002/metrics?a=b", ""},
		{"http://[::1]:8002", "", "http://[::1]:8002", ""},
		{"", "", "", "target_invalid"},
		{"vision=", "vision", "", "target_invalid"},
		{"ftp://h", "", "ftp://h", "target_invalid"},
		{"http://", "", "http://", "target_invalid"},
		{"http://u:secret@h:1", "", "http://u:secret@h:1", "target_invalid"},
	} {
		got, err := ParseTarget(tc.in)
		if model.CodeOf(err) != tc.code || got.Service != tc.service || got.URL != tc.url {
			t.Errorf("%q: %+v, %v", tc.in, got, err)
		}
	}
}

func FuzzParseTarget(f *testing.F) {
	f.Add("vision=http://h:8002/metrics")
	f.Add("http://%zz")
	f.Fuzz(func(t *testing.T, s string) { _, _ = ParseTarget(s) })
}
