package metricstore

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sightline/internal/model"
)

// tmpfs mounts a small file system on a new directory, or skips.
func tmpfs(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if os.Geteuid() != 0 {
		t.Skip("skipped: mounting a small file system needs root")
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("skipped: mounting a small file system is not allowed here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func wantProblem(t *testing.T, dir, code string, words ...string) {
	t.Helper()
	s, err := Open(context.Background(), DefaultConfig(dir), nil, nil, nil)
	if err == nil {
		_ = s.Close()
		t.Fatalf("opened, want the problem %s", code)
	}
	if got := model.CodeOf(err); got != code {
		t.Fatalf("code %q (%v), want %q", got, err, code)
	}
	for _, w := range append(words, dir) {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q lacks %q", err, w)
		}
	}
}

func TestAFileIsNoDataDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantProblem(t, file, "data_dir_not_a_directory", "--data")
	wantProblem(t, filepath.Join(file, "below"), "data_dir_not_a_directory")
}

func TestReadOnlyDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
		wantProblem(t, dir, "data_dir_read_only", "--data")
		return
	}
	dir := tmpfs(t, "size=1m")
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, "size=1m"); err != nil {
		t.Fatal(err)
	}
	wantProblem(t, dir, "data_dir_read_only", "--data")
	wantProblem(t, filepath.Join(dir, "below"), "data_dir_read_only")
}

func TestLockedDirectoryNamesTheProcess(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDirEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !bufio.NewScanner(out).Scan() {
		t.Fatal("the child has not opened the directory")
	}
	wantProblem(t, dir, "data_dir_locked", fmt.Sprintf("process %d", cmd.Process.Pid))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	s, _ := opened(t, dir, nil)
	if _, err := os.Stat(filepath.Join(dir, uncleanMarker)); err != nil {
		t.Errorf("no marker while open: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, uncleanMarker)); err == nil {
		t.Error("the marker stays after a clean close")
	}
}

func TestParseLock(t *testing.T) {
	for line, want := range map[string][2]uint64{
		"1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF": {1234, 5678},
		"1: -> FLOCK  ADVISORY  WRITE 1 08:01:5678 0 EOF": {},
		"2: OFDLCK ADVISORY  READ -1 00:06:22 0 EOF":      {},
		"": {}, "a b c d e f": {}, "1: POSIX ADVISORY WRITE 9 08:01:x 0 EOF": {},
	} {
		if pid, inode := parseLock(line); uint64(pid) != want[0] || inode != want[1] {
			t.Errorf("%q: %d %d", line, pid, inode)
		}
	}
}

func FuzzParseLock(f *testing.F) {
	f.Add("1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF")
	f.Add("1: -> x :::")
	f.Fuzz(func(t *testing.T, line string) {
		if pid, _ := parseLock(line); pid < 0 {
			t.Errorf("%q gives process %d", line, pid)
		}
	})
}
