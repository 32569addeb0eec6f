package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestUsageIsClear(t *testing.T) {
	for _, tc := range []struct {
		args []string
		exit int
		want string
	}{
		{nil, 2, "--server"},
		{[]string{"--server", "http://127.0.0.1:1"}, 1, "[targets_missing]"},
		{[]string{"--server", "nowhere", "--target", "h:1", "--listen", "127.0.0.1:0"}, 1, "[server_url_invalid]"},
		{[]string{"--server", "http://127.0.0.1:1", "--target", "ftp://h"}, 1, "[target_invalid]"},
		{[]string{"--server", "http://127.0.0.1:1", "--target", "h:1", "--listen", "0.0.0.0:0"}, 1, "[listen_open]"},
		{[]string{"--server", "http://127.0.0.1:1", "--target", "h:1", "--listen", "127.0.0.1:0", "--token-file", "/nowhere"}, 1, "[token_file_unreadable]"},
	} {
		var out, errOut bytes.Buffer
		if got := run(tc.args, &out, &errOut); got != tc.exit || !strings.Contains(errOut.String(), tc.want) {
			t.Errorf("%v: exit %d, want %d with %q; said %q", tc.args, got, tc.exit, tc.want, errOut.String())
		}
	}
	var out bytes.Buffer
	if run([]string{"--version"}, &out, &out) != 0 || !strings.Contains(out.String(), "sightline-agent ") {
		t.Errorf("version says %q", out.String())
	}
}
