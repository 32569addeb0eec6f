package metricstore

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// childDirEnv makes the test binary act as the process that is killed.
const childDirEnv = "SIGHTLINE_STORE_CHILD_DIR"

// child appends one sample after the other and prints each number once its
// commit returned. It never ends by itself.
func child(dir string) int {
	s, err := Open(context.Background(), DefaultConfig(dir), nil, nil, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	start := time.Now().UnixMilli()
	for i := int64(0); ; i++ {
		// Ten series; every seventh sample comes late, by way of the second log.
		t := start + i
		if i%7 == 6 {
			t = start - 3600_000 + i
		}
		// A process has series of its own: its times run ahead of the clock, into
		// those of the next.
		series := fmt.Sprintf("%d-%d", os.Getpid(), i%10)
		if err := appendOne(s, t, float64(i), "__name__", "crash", "n", series); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println(t, series, i)
	}
}

func TestKillLosesNothingAcknowledged(t *testing.T) {
	dir := t.TempDir()
	acknowledged := map[string]float64{}
	for round := range 3 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childDirEnv+"="+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		n := 0
		for lines.Scan() {
			at, rest, ok := strings.Cut(lines.Text(), " ")
			series, value, ok2 := strings.Cut(rest, " ")
			v, err := strconv.ParseFloat(value, 64)
			if !ok || !ok2 || err != nil {
				t.Fatalf("line %q", lines.Text())
			}
			acknowledged[series+"@"+at] = v
			if n++; n == 3000+777*round {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait() // it was killed
		if n < 3000 {
			t.Fatalf("the child ended after %d samples", n)
		}
	}
	s, _ := opened(t, dir, nil)
	q, err := s.Queryable().Querier(0, time.Now().Add(time.Hour).UnixMilli())
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	stored := readAll(t, q, "crash", "n")
	for k, v := range acknowledged {
		if got, ok := stored[k]; !ok || got != v {
			t.Fatalf("sample %s was acknowledged with value %g; stored: %v, %g (%d acknowledged, %d stored)", k, v, ok, got, len(acknowledged), len(stored))
		}
	}
	t.Logf("%d samples acknowledged over three kills, %d stored", len(acknowledged), len(stored))
}
