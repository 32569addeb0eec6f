package metricstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/index"

	"sightline/internal/health"
)

// quarantineDir is where damaged blocks go, inside the data directory. The TSDB
// ignores it: its name is no block id.
const quarantineDir = "quarantine"

// Quarantined is a damaged block that was set aside.
type Quarantined struct {
	Block  string // the block's id
	Path   string // where it lies now
	Reason string // what is wrong with it
	// MinTime and MaxTime are the range that is missing from answers now; zero
	// when the block's description cannot be read.
	MinTime, MaxTime time.Time
	At               time.Time // when it was found
	New              bool      // found at this start
}

func (q Quarantined) condition() health.Condition {
	span := "an unknown range of time"
	if !q.MinTime.IsZero() {
		span = q.MinTime.UTC().Format(time.RFC3339) + " to " + q.MaxTime.UTC().Format(time.RFC3339)
	}
	return health.Condition{
		Code: "block_quarantined", Severity: health.Error, Subject: q.Block,
		Text: fmt.Sprintf("block %s is damaged (%s) and was moved to %s; %s is missing from answers", q.Block, q.Reason, q.Path, span),
		Hint: "restore the block from a backup, or delete the folder to accept the loss",
	}
}

// quarantineDamaged verifies every block in dir, moves those that fail aside
// and returns all that are in quarantine. full also reads every series and
// every chunk; otherwise the index's tables and the chunk files' heads.
func quarantineDamaged(ctx context.Context, dir string, full bool, log *slog.Logger) ([]Quarantined, error) {
	known, err := readQuarantine(dir)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if _, err := ulid.ParseStrict(e.Name()); err != nil || !e.IsDir() {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		path := filepath.Join(dir, e.Name())
		reason := verifyBlock(path, full)
		if reason == nil {
			continue
		}
		q, err := quarantine(dir, path, reason)
		if err != nil {
			return nil, err
		}
		log.Error("block moved to quarantine", "block", q.Block, "path", q.Path, "reason", q.Reason)
		known = append(known, q)
	}
	return known, nil
}

// quarantine moves one block and leaves a note beside it.
func quarantine(dir, block string, reason error) (Quarantined, error) {
	q := Quarantined{Block: filepath.Base(block), Reason: reason.Error(), At: time.Now().UTC(), New: true}
	if meta, err := readMeta(block); err == nil {
		q.MinTime, q.MaxTime = time.UnixMilli(meta.MinTime), time.UnixMilli(meta.MaxTime)
	}
	target := filepath.Join(dir, quarantineDir)
	if err := os.MkdirAll(target, 0o755); err != nil {
		return q, err
	}
	q.Path = filepath.Join(target, q.Block)
	if err := os.Rename(block, q.Path); err != nil {
		return q, err
	}
	note, err := json.MarshalIndent(q, "", "  ")
	if err != nil {
		return q, err
	}
	return q, os.WriteFile(q.Path+".json", note, 0o644)
}

// readQuarantine lists what earlier starts set aside.
func readQuarantine(dir string) ([]Quarantined, error) {
	entries, err := os.ReadDir(filepath.Join(dir, quarantineDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Quarantined
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		path := filepath.Join(dir, quarantineDir, e.Name())
		q := Quarantined{Block: e.Name(), Reason: "no note was left"}
		if b, err := os.ReadFile(path + ".json"); err == nil {
			if json.Unmarshal(b, &q) != nil {
				q.Reason = "the note beside it cannot be read"
			}
		}
		q.Block, q.Path, q.New = e.Name(), path, false
		out = append(out, q)
	}
	return out, nil
}

func readMeta(block string) (*tsdb.BlockMeta, error) {
	b, err := os.ReadFile(filepath.Join(block, "meta.json"))
	if err != nil {
		return nil, err
	}
	var m tsdb.BlockMeta
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("meta.json: %w", err)
	}
	if m.Version != 1 {
		return nil, fmt.Errorf("meta.json has version %d, want 1", m.Version)
	}
	if m.ULID.String() != filepath.Base(block) {
		return nil, fmt.Errorf("meta.json names block %s", m.ULID)
	}
	return &m, nil
}

// verifyBlock says what is wrong with a block, or nil. The readers map files
// into memory; a page that the disk cannot give arrives as a fault, which is
// turned into an error here.
func verifyBlock(path string, full bool) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("reading it fails: %v", r)
		}
	}()
	meta, err := readMeta(path)
	if err != nil {
		return err
	}
	b, err := tsdb.OpenBlock(nil, path, chunkenc.NewPool(), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	if meta.Stats.NumChunks > 0 && b.Size() <= 0 {
		return errors.New("it has no files")
	}
	if !full {
		return verifySegments(path, meta)
	}
	return verifySeries(path, b, meta)
}

// verifySegments makes sure that a block with chunks has a chunk file; the
// reader has already checked that those present begin as they must.
func verifySegments(path string, meta *tsdb.BlockMeta) error {
	files, err := os.ReadDir(filepath.Join(path, "chunks"))
	if err != nil {
		return err
	}
	if meta.Stats.NumChunks > 0 && len(files) == 0 {
		return fmt.Errorf("its %d chunks have no file", meta.Stats.NumChunks)
	}
	return nil
}

// verifySeries reads every series of the index and every chunk with its
// checksum.
func verifySeries(path string, b *tsdb.Block, meta *tsdb.BlockMeta) (err error) {
	if err := verifySegments(path, meta); err != nil {
		return err
	}
	ir, err := b.Index()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ir.Close()) }()
	cr, err := b.Chunks()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cr.Close()) }()
	name, value := index.AllPostingsKey()
	p, err := ir.Postings(context.Background(), name, value)
	if err != nil {
		return err
	}
	var (
		builder labels.ScratchBuilder
		metas   []chunks.Meta
		series  uint64
	)
	for p.Next() {
		metas = metas[:0]
		if err := ir.Series(p.At(), &builder, &metas); err != nil {
			return fmt.Errorf("series %d: %w", p.At(), err)
		}
		series++
		for _, m := range metas {
			if _, _, err := cr.ChunkOrIterable(m); err != nil {
				return fmt.Errorf("chunk of series %s: %w", builder.Labels(), err)
			}
		}
	}
	if err := p.Err(); err != nil {
		return err
	}
	if meta.Stats.NumSeries > 0 && series != meta.Stats.NumSeries {
		return fmt.Errorf("its index has %d series, its description says %d", series, meta.Stats.NumSeries)
	}
	return nil
}
