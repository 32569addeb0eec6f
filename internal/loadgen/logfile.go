package loadgen

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"sightline/internal/model"
)

// logQueue is how many records may wait for the disk.
const logQueue = 4096

// logWriter writes records as JSON lines from one goroutine, so that a slow
// disk never delays a request: when its queue is full, records are counted as
// lost instead. close ends the goroutine.
type logWriter struct {
	queue  chan *Record
	done   chan struct{}
	meters *meters
	log    *slog.Logger
	err    error // of the goroutine; read after done
}

func openLog(path string, m *meters, log *slog.Logger) (*logWriter, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, &model.Problem{Code: "loadgen_log", Text: fmt.Sprintf("the request log %s cannot be created", path), Hint: "give a path in a folder that exists and can be written", Err: err}
	}
	return startLog(f, strings.HasSuffix(path, ".gz"), m, log), nil
}

func startLog(f io.WriteCloser, compressed bool, m *meters, log *slog.Logger) *logWriter {
	w := &logWriter{queue: make(chan *Record, logQueue), done: make(chan struct{}), meters: m, log: log}
	go w.run(f, compressed)
	return w
}

func (w *logWriter) add(r *Record) {
	select {
	case w.queue <- r:
	default:
		w.meters.logLost.Inc()
	}
}

func (w *logWriter) run(f io.WriteCloser, compressed bool) {
	defer close(w.done)
	buf := bufio.NewWriterSize(f, 64<<10)
	var out io.Writer = buf
	var zip *gzip.Writer
	if compressed {
		zip = gzip.NewWriter(buf)
		out = zip
	}
	enc := json.NewEncoder(out)
	for r := range w.queue {
		if w.err != nil {
			w.meters.logLost.Inc()
			continue
		}
		if w.err = enc.Encode(r); w.err == nil && len(w.queue) == 0 {
			if zip != nil {
				w.err = zip.Flush()
			}
			w.err = errors.Join(w.err, buf.Flush())
		}
		if w.err != nil {
			w.meters.logLost.Inc()
			w.log.Error("the request log cannot be written; records stay in memory only", "error", w.err)
		}
	}
	if zip != nil {
		w.err = errors.Join(w.err, zip.Close())
	}
	w.err = errors.Join(w.err, buf.Flush(), f.Close())
}

// close writes what waits and closes the file. add must not be called after it.
func (w *logWriter) close() error {
	close(w.queue)
	<-w.done
	if w.err != nil {
		return &model.Problem{Code: "loadgen_log", Text: "the request log is incomplete", Hint: "free disk space and run again", Err: w.err}
	}
	return nil
}

// ReadLog reads records that a generator wrote, compressed or not. It stops at
// the first bad line with the code loadgen_log and returns what came before.
func ReadLog(r io.Reader) ([]Record, error) {
	br := bufio.NewReader(r)
	if head, err := br.Peek(2); err == nil && head[0] == 0x1f && head[1] == 0x8b {
		z, err := gzip.NewReader(br)
		if err != nil {
			return nil, &model.Problem{Code: "loadgen_log", Text: "the request log is no gzip file", Hint: "use a log of this program", Err: err}
		}
		br = bufio.NewReader(z)
	}
	var out []Record
	dec := json.NewDecoder(br)
	for {
		var rec Record
		if err := dec.Decode(&rec); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return out, &model.Problem{Code: "loadgen_log", Text: fmt.Sprintf("the request log breaks after %d records", len(out)), Hint: "use what came before", Err: err}
		}
		out = append(out, rec)
	}
}
