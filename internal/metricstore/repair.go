package metricstore

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// logSnapshot remembers the segments of the logs before an opening. Repair
// rewrites the damaged segment and removes the later ones, so comparing files
// tells for certain that it happened.
type logSnapshot struct {
	dir      string
	segments map[string]os.FileInfo // by path relative to dir
}

func snapshotLogs(dir string) logSnapshot {
	s := logSnapshot{dir: dir, segments: map[string]os.FileInfo{}}
	for _, log := range []string{"wal", "wbl"} {
		entries, err := os.ReadDir(filepath.Join(dir, log))
		if err != nil {
			continue // there is none yet
		}
		for _, e := range entries {
			if _, err := strconv.Atoi(e.Name()); err != nil {
				continue
			}
			if st, err := e.Info(); err == nil {
				s.segments[filepath.Join(log, e.Name())] = st
			}
		}
	}
	return s
}

// repair is one segment that lost its end.
type repair struct {
	segment string // wal/00000003
	offset  int64  // the damage begins before it: the reader has already taken the broken record's claimed length; -1 when the segment is gone whole
	cut     int64  // bytes that are gone at least
}

func (r repair) text() string {
	if r.offset < 0 {
		return fmt.Sprintf("log segment %s came after a damaged one and was removed (%d bytes)", r.segment, r.cut)
	}
	return fmt.Sprintf("log segment %s is damaged before byte %d; the damaged record and all behind it, %d bytes or more, were cut off", r.segment, r.offset, r.cut)
}

// repaired lists what an opening changed.
func (s logSnapshot) repaired(w *repairWatch) []repair {
	var out []repair
	for name, before := range s.segments {
		after, err := os.Stat(filepath.Join(s.dir, name))
		switch {
		case err != nil:
			out = append(out, repair{segment: name, offset: -1, cut: before.Size()})
		case !os.SameFile(before, after):
			r := repair{segment: name, offset: after.Size(), cut: before.Size() - after.Size()}
			if off, ok := w.offset(); ok {
				r.offset, r.cut = off, before.Size()-off
			}
			r.cut = max(r.cut, 0)
			out = append(out, r)
		}
	}
	return out
}

// repairWatch reads the offset of the damage from the TSDB's log line, the only
// place where it says it.
type repairWatch struct {
	mu  sync.Mutex
	off int64
	ok  bool
}

func (w *repairWatch) offset() (int64, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.off, w.ok
}

func (w *repairWatch) wrap(h slog.Handler) slog.Handler { return repairHandler{Handler: h, w: w} }

type repairHandler struct {
	slog.Handler
	w *repairWatch
}

// Enabled lets warnings through even when the handler below drops them.
func (h repairHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn || h.Handler.Enabled(ctx, l)
}

func (h repairHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "Starting corruption repair" {
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == "offset" && a.Value.Kind() == slog.KindInt64 {
				h.w.mu.Lock()
				h.w.off, h.w.ok = a.Value.Int64(), true
				h.w.mu.Unlock()
			}
			return true
		})
	}
	if !h.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

func (h repairHandler) WithAttrs(as []slog.Attr) slog.Handler {
	return repairHandler{h.Handler.WithAttrs(as), h.w}
}

func (h repairHandler) WithGroup(name string) slog.Handler {
	return repairHandler{h.Handler.WithGroup(name), h.w}
}
