package chat

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The official client is installed with the console's packages; where it is not,
// SIGHTLINE_OPENAI_DIR may name a folder whose node_modules has it.
func TestOfficialClientAgrees(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	dir := os.Getenv("SIGHTLINE_OPENAI_DIR")
	if dir == "" {
		dir = "../../../web"
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "openai")); err != nil {
		t.Skipf("the openai package is not in %s/node_modules", dir)
	}
	script, err := filepath.Abs("testdata/openai_client.mjs")
	if err != nil {
		t.Fatal(err)
	}
	c := smallConfig()
	c.Shape.MaxPositions = 1024
	r := start(t, c)
	cmd := exec.CommandContext(t.Context(), node, script, "http://"+r.HTTPAddr())
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "OK\n" {
		t.Errorf("%v\n%s", err, out)
	}
}
