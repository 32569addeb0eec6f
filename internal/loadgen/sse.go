package loadgen

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxEvent bounds one server-sent event in bytes.
const maxEvent = 1 << 20

// errEventTooLong ends a stream whose event is beyond maxEvent.
var errEventTooLong = fmt.Errorf("a server-sent event is longer than %d bytes", maxEvent)

// eventReader reads the data of server-sent events as the WHATWG HTML standard
// section 9.2.6 defines them, as far as inference servers use it: lines end
// with LF or CRLF, several data lines join with LF, comments and other fields
// are skipped, an event without data does not count. Unlike a browser it also
// returns an event that the end of the stream cuts off, because an interrupted
// stream's last words say why.
type eventReader struct {
	r    *bufio.Reader
	data []byte
}

func newEventReader(r io.Reader) *eventReader { return &eventReader{r: bufio.NewReaderSize(r, 8<<10)} }

// next returns the data of the next event; the slice is valid until the next
// call. io.EOF ends the stream.
func (e *eventReader) next() ([]byte, error) {
	e.data = e.data[:0]
	has := false
	for {
		line, err := e.line()
		if err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)) {
			if has && errors.Is(err, io.EOF) {
				return e.data, nil
			}
			return nil, err
		}
		if len(line) == 0 {
			if has {
				return e.data, nil
			}
			continue
		}
		value, ok := bytes.CutPrefix(line, []byte("data"))
		if !ok {
			continue
		}
		if len(value) > 0 {
			if value[0] != ':' {
				continue // a field that only begins with data
			}
			value = bytes.TrimPrefix(value[1:], []byte(" "))
		}
		if has {
			e.data = append(e.data, '\n')
		}
		if len(e.data)+len(value) > maxEvent {
			return nil, errEventTooLong
		}
		e.data, has = append(e.data, value...), true
	}
}

// line reads up to the next LF and cuts CR LF off. With io.EOF it may return
// the last, unfinished line.
func (e *eventReader) line() ([]byte, error) {
	line, err := e.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := append([]byte(nil), line...)
		for errors.Is(err, bufio.ErrBufferFull) {
			if len(long) > maxEvent {
				return nil, errEventTooLong
			}
			line, err = e.r.ReadSlice('\n')
			long = append(long, line...)
		}
		line = long
	}
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r")), err
}
