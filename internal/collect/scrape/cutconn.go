package scrape

import (
	"bytes"
	"errors"
	"io"
	"net"
)

// cutConn notices an answer that was cut off. An HTTP/1.0 server that gives no
// length ends its answer by closing the connection, which looks the same when it
// died half way; the text parser then takes "requests 12" for a whole line even
// if it was 1234. Such an answer is believed only when it ends with a newline,
// as the text format demands. Answers with a length or in chunks are checked by
// net/http, compressed ones by their checksum, and TLS has an end of its own.
//
// Only the first answer on a connection is looked at: one that ends with the
// connection cannot follow another from a server that gives no lengths.
type cutConn struct {
	net.Conn
	head   []byte // of the answer, until it is complete
	parsed bool
	open   bool // the answer has no length: it ends with the connection
	last   byte
}

// maxHead bounds the head that is kept; a longer one is not judged.
const maxHead = 16 << 10

// Read implements net.Conn.
func (c *cutConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.last = p[n-1]
		if !c.parsed {
			c.parse(p[:n])
		}
	}
	if errors.Is(err, io.EOF) && c.open && c.last != '\n' {
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}

func (c *cutConn) parse(p []byte) {
	c.head = append(c.head, p[:min(len(p), maxHead-len(c.head))]...)
	end := bytes.Index(c.head, []byte("\r\n\r\n"))
	if end < 0 && len(c.head) < maxHead {
		return
	}
	c.parsed = true
	if end >= 0 && bytes.HasPrefix(c.head, []byte("HTTP/1.")) {
		head := bytes.ToLower(c.head[:end])
		c.open = !bytes.Contains(head, []byte("\r\ncontent-length:")) &&
			!bytes.Contains(head, []byte("\r\ntransfer-encoding:")) &&
			!bytes.Contains(head, []byte("\r\ncontent-encoding:")) &&
			!bytes.Contains(head, []byte("application/vnd.google.protobuf"))
	}
	c.head = nil
}
