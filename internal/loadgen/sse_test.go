package loadgen

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func events(r io.Reader) (out []string, err error) {
	e := newEventReader(r)
	for {
		d, err := e.next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, string(d))
	}
}

func TestEventReader(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"two", "data: a\n\ndata: b\n\n", []string{"a", "b"}},
		{"crlf", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"a", "b"}},
		{"no space", "data:a\n\n", []string{"a"}},
		{"only one space goes", "data:  a\n\n", []string{" a"}},
		{"joined", "data: a\ndata: b\n\n", []string{"a\nb"}},
		{"comments and fields", ": ping\nevent: x\nid: 1\ndata: a\nretry: 3\n\n", []string{"a"}},
		{"field that begins with data", "database: a\n\n", nil},
		{"data without colon", "data\n\n", []string{""}},
		{"empty events", "\n\n\nevent: x\n\n", nil},
		{"cut off", "data: a\n\ndata: las", []string{"a", "las"}},
		{"cut off after line", "data: a\n", []string{"a"}},
		{"long line", "data: " + strings.Repeat("x", 100_000) + "\n\n", []string{strings.Repeat("x", 100_000)}},
	} {
		got, err := events(strings.NewReader(c.in))
		if err != nil || strings.Join(got, "|") != strings.Join(c.want, "|") || len(got) != len(c.want) {
			t.Errorf("%s: %q %v", c.name, got, err)
		}
	}
}

func TestEventReaderIsBounded(t *testing.T) {
	for _, in := range []string{"data: " + strings.Repeat("x", 3*maxEvent), strings.Repeat("data: "+strings.Repeat("y", 1000)+"\n", 2000)} {
		if _, err := events(strings.NewReader(in)); !errors.Is(err, errEventTooLong) {
			t.Errorf("an endless event gives %v", err)
		}
	}
	if _, err := events(iotest.ErrReader(io.ErrUnexpectedEOF)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a broken connection gives %v", err)
	}
}

func FuzzEventReader(f *testing.F) {
	f.Add("data: {\"choices\":[]}\n\ndata: [DONE]\n\n")
	f.Add("data\r\ndata:\r\n\r\n:c\n\n")
	f.Add("data: a")
	f.Fuzz(func(t *testing.T, s string) {
		whole, err1 := events(strings.NewReader(s))
		bytewise, err2 := events(iotest.OneByteReader(strings.NewReader(s)))
		if strings.Join(whole, "\x00|") != strings.Join(bytewise, "\x00|") || (err1 == nil) != (err2 == nil) {
			t.Errorf("whole %q %v, byte by byte %q %v", whole, err1, bytewise, err2)
		}
	})
}
