package loadgen

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"sightline/internal/model"
)

func sample(i uint64) Record {
	cached := 0
	at := time.Unix(100, int64(i)).UTC()
	return Record{ID: i, Plan: "p", Model: "m", Instance: "x", Scheduled: at, Sent: at, Done: at.Add(time.Second), Status: 200,
		Tokens: &Usage{1, 2, &cached}, Timings: map[string]float64{"queue": .5}, TokenGaps: []time.Duration{time.Millisecond}, Message: "secret words of a server"}
}

func TestLogFileReadsBack(t *testing.T) {
	for _, name := range []string{"log.jsonl", "log.jsonl.gz"} {
		path := filepath.Join(t.TempDir(), name)
		m := newMeters(nil)
		w, err := openLog(path, m, testLogger(t))
		if err != nil {
			t.Fatal(err)
		}
		for i := range uint64(1000) {
			r := sample(i)
			w.add(&r)
		}
		if err := w.close(); err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if st, _ := os.Stat(path); st.Mode().Perm() != 0o600 {
			t.Errorf("mode %v", st.Mode())
		}
		if (raw[0] == 0x1f) != strings.HasSuffix(name, ".gz") {
			t.Errorf("%s begins with %x", name, raw[0])
		}
		rs, err := ReadLog(bytes.NewReader(raw))
		if err != nil || len(rs) != 1000 {
			t.Fatalf("%d records, %v", len(rs), err)
		}
		want := sample(7)
		want.Message = "" // texts of servers never reach the disk
		if !reflect.DeepEqual(rs[7], want) {
			t.Errorf("got %+v\nwant %+v", rs[7], want)
		}
		if bytes.Contains(raw, []byte("secret words")) {
			t.Error("a server's text is on disk")
		}
	}
}

func TestReadLogStopsAtDamage(t *testing.T) {
	rs, err := ReadLog(strings.NewReader("{\"id\":1}\n{\"id\":2}\n{\"id\":"))
	if len(rs) != 2 || model.CodeOf(err) != "loadgen_log" {
		t.Errorf("%d records, %v", len(rs), err)
	}
}

// full is a disk without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }
func (full) Close() error              { return nil }

func TestFullDiskLosesTheLogButNothingElse(t *testing.T) {
	m := newMeters(nil)
	w := startLog(full{}, false, m, testLogger(t))
	for i := range uint64(5000) {
		r := sample(i)
		w.add(&r)
	}
	if model.CodeOf(w.close()) != "loadgen_log" {
		t.Error("a log that could not be written ends well")
	}
	if testutil.ToFloat64(m.logLost) < 1 {
		t.Error("lost records are not counted")
	}
}

func TestLogPathThatCannotBe(t *testing.T) {
	if _, err := openLog(filepath.Join(t.TempDir(), "no", "such", "folder"), newMeters(nil), testLogger(t)); model.CodeOf(err) != "loadgen_log" {
		t.Error(err)
	}
}

func TestRingKeepsTheNewest(t *testing.T) {
	r := newRing(3)
	for i := range uint64(5) {
		r.add(Record{ID: i})
	}
	rs, lost := r.snapshot()
	if len(rs) != 3 || rs[0].ID != 2 || rs[2].ID != 4 || lost != 2 || r.overwritten() != 2 {
		t.Errorf("%v, %d overwritten", rs, lost)
	}
}
