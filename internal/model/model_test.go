package model

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"
)

func TestErrorKindListIsClosed(t *testing.T) {
	if len(ErrorKinds) != 10 {
		t.Fatalf("want ten kinds, have %d", len(ErrorKinds))
	}
	seen := map[ErrorKind]bool{}
	for _, k := range ErrorKinds {
		if seen[k] || !k.Known() {
			t.Errorf("kind %q is repeated or unknown to itself", k)
		}
		seen[k] = true
	}
	if ErrorKind("weird").Known() {
		t.Error("a kind outside the list is reported as known")
	}
}

func TestProblemCarriesCodeTextAndCause(t *testing.T) {
	p := &Problem{Code: "port_in_use", Text: "port 7070 is taken", Hint: "choose another with --listen", Err: io.ErrClosedPipe}
	err := fmt.Errorf("start: %w", p)
	if got := CodeOf(err); got != "port_in_use" {
		t.Errorf("code %q", got)
	}
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Error("the cause is hidden")
	}
	if got, want := p.Error(), "port 7070 is taken: io: read/write on closed pipe; choose another with --listen"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
	if CodeOf(nil) != "" || CodeOf(io.EOF) != "internal" {
		t.Error("code of nil must be empty and of a plain error internal")
	}
}

func TestTimeRange(t *testing.T) {
	now := time.Unix(1000, 0)
	if err := (TimeRange{now, now}).Validate(); err != nil {
		t.Error(err)
	}
	if CodeOf((TimeRange{now, now.Add(-1)}).Validate()) != "time_range_reversed" {
		t.Error("a reversed range passes")
	}
}
