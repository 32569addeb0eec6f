package engine

import "strings"

// holdback keeps back the end of an answer as long as it could be the start of
// a stop text, so that no part of a stop text is ever sent.
type holdback struct {
	stops []string
	keep  int // bytes to keep back
	buf   string
}

func newHoldback(stops []string) holdback {
	h := holdback{stops: stops}
	for _, s := range stops {
		h.keep = max(h.keep, len(s)-1)
	}
	return h
}

// add takes a piece of text and returns what may be sent, and the stop text
// that ended the answer, if one did. Unless armed, stop texts mean nothing yet.
func (h *holdback) add(piece string, armed bool) (send, stop string) {
	h.buf += piece
	if !armed {
		return h.rest(), ""
	}
	first := -1
	for _, s := range h.stops {
		if i := strings.Index(h.buf, s); i >= 0 && (first < 0 || i < first) {
			first, stop = i, s
		}
	}
	if first >= 0 {
		send = h.buf[:first]
		h.buf = ""
		return send, stop
	}
	n := max(0, len(h.buf)-h.keep)
	send, h.buf = h.buf[:n], h.buf[n:]
	return send, ""
}

// rest is what was kept back when the answer ended without a stop text.
func (h *holdback) rest() string {
	r := h.buf
	h.buf = ""
	return r
}
