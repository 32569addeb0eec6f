package metricstore

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/prometheus/prometheus/tsdb/tsdbutil"

	"sightline/internal/model"
)

// dirProblem gives err, met while working in the data directory, its code.
func dirProblem(dir string, err error) error {
	var p *model.Problem
	switch {
	case errors.As(err, &p):
		return err
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &model.Problem{Code: "disk_full", Text: fmt.Sprintf("the file system of the data directory %s is full", dir), Hint: "free some space or choose another directory with --data", Err: err}
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return &model.Problem{Code: "data_dir_read_only", Text: fmt.Sprintf("the data directory %s cannot be written", dir), Hint: "make it writable for this user or choose another with --data", Err: err}
	case errors.Is(err, syscall.ENOTDIR):
		return &model.Problem{Code: "data_dir_not_a_directory", Text: fmt.Sprintf("the data directory %s is not a directory", dir), Hint: "choose a directory with --data", Err: err}
	}
	return &model.Problem{Code: "data_dir_damaged", Text: fmt.Sprintf("cannot open the data in %s", dir), Hint: "restore a backup, or move the directory away and start with an empty one", Err: err}
}

// prepareDir creates dir and makes sure that it can be written.
func prepareDir(dir string) error {
	if st, err := os.Stat(dir); err == nil && !st.IsDir() {
		return dirProblem(dir, syscall.ENOTDIR)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return dirProblem(dir, err)
	}
	// Root may write where the mode says no, so only a write tells.
	probe, err := os.CreateTemp(dir, ".sightline-probe-*")
	if err != nil {
		return dirProblem(dir, err)
	}
	_, werr := probe.Write([]byte("probe"))
	cerr := probe.Close()
	rerr := os.Remove(probe.Name())
	if err := errors.Join(werr, cerr, rerr); err != nil {
		return dirProblem(dir, err)
	}
	return nil
}

// lockDir takes the TSDB's own lock, so that two stores or a store and a
// Prometheus server never share a directory.
func lockDir(dir string, log *slog.Logger) (*tsdbutil.DirLocker, error) {
	lock, err := tsdbutil.NewDirLocker(dir, "tsdb", log, nil)
	if err != nil {
		return nil, dirProblem(dir, err)
	}
	if err := lock.Lock(); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EACCES) {
			by := "another process"
			if pid := lockHolder(filepath.Join(dir, "lock")); pid > 0 {
				by = fmt.Sprintf("process %d", pid)
				if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil {
					by += " (" + strings.TrimSpace(string(name)) + ")"
				}
			}
			return nil, &model.Problem{Code: "data_dir_locked", Text: fmt.Sprintf("the data directory %s is in use by %s", dir, by), Hint: "stop it or choose another directory with --data", Err: err}
		}
		return nil, dirProblem(dir, err)
	}
	return lock, nil
}

// lockHolder finds who holds the lock on file; 0 when it cannot be told.
func lockHolder(file string) int {
	st, err := os.Stat(file)
	if err != nil {
		return 0
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	f, err := os.Open("/proc/locks")
	if err != nil {
		return 0
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if pid, inode := parseLock(lines.Text()); pid > 0 && inode == sys.Ino {
			return pid
		}
	}
	return 0
}

// parseLock reads a line of /proc/locks:
//
//	1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF
//
// It returns zeros for anything else. The device is not compared: its number
// differs between stat and /proc/locks on some file systems.
func parseLock(line string) (pid int, inode uint64) {
	fields := strings.Fields(line)
	if len(fields) < 6 || fields[1] == "->" {
		return 0, 0
	}
	place := strings.Split(fields[5], ":")
	if len(place) != 3 {
		return 0, 0
	}
	pid, err := strconv.Atoi(fields[4])
	if err != nil || pid <= 0 {
		return 0, 0
	}
	inode, err = strconv.ParseUint(place[2], 10, 64)
	if err != nil {
		return 0, 0
	}
	return pid, inode
}

// joinClose closes after a failure and keeps both errors; the first decides the code.
func joinClose(err error, closeIt func() error) error {
	if cerr := closeIt(); cerr != nil {
		return errors.Join(err, cerr)
	}
	return err
}
