package scrape

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

// pieces is a connection that gives its bytes in pieces of n and then ends.
type pieces struct {
	net.Conn
	r io.Reader
	n int
}

func (p *pieces) Read(b []byte) (int, error) { return p.r.Read(b[:min(len(b), p.n)]) }

func readCut(answer string, n int) ([]byte, error) {
	return io.ReadAll(&cutConn{Conn: &pieces{r: strings.NewReader(answer), n: n}})
}

func TestCutConnBelievesOnlyWholeAnswers(t *testing.T) {
	for answer, cut := range map[string]bool{
		"HTTP/1.0 200 OK\r\n\r\na 1\nb 12":                                                                     true,
		"HTTP/1.0 200 OK\r\n\r\na 1\nb 12\n":                                                                   false,
		"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\na 12":                                                     false,
		"HTTP/1.1 200 OK\r\nTRANSFER-ENCODING: chunked\r\n\r\n4\r\na 12\r\n0\r\n\r\n":                          false,
		"HTTP/1.0 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b":                                            false,
		"HTTP/1.0 200 OK\r\nContent-Type: application/vnd.google.protobuf; encoding=delimited\r\n\r\n\x02\x0a": false,
		"something else": false,
		"":               false,
		"HTTP/1.0 200 OK\r\nX: " + strings.Repeat("x", maxHead) + "\r\n\r\na 1": false, // not judged
	} {
		for _, n := range []int{1, 7, 1 << 20} {
			got, err := readCut(answer, n)
			if errors.Is(err, io.ErrUnexpectedEOF) != cut || string(got) != answer {
				t.Errorf("%.60q in pieces of %d: %v, cut %v wanted", answer, n, err, cut)
			}
		}
	}
}

func FuzzCutConn(f *testing.F) {
	f.Add([]byte("HTTP/1.0 200 OK\r\n\r\na 1\nb 12"), 3)
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"), 1)
	f.Fuzz(func(t *testing.T, answer []byte, n int) {
		if n <= 0 || n > 1<<16 {
			n = 1
		}
		got, err := readCut(string(answer), n)
		if !bytes.Equal(got, answer) {
			t.Errorf("bytes were changed")
		}
		if err != nil && (!errors.Is(err, io.ErrUnexpectedEOF) || bytes.HasSuffix(answer, []byte("\n"))) {
			t.Errorf("%q: %v", answer, err)
		}
	})
}
