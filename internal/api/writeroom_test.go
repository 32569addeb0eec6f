package api

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/golang/snappy"
)

func TestLargeWritesTakeTurns(t *testing.T) {
	inside, release := make(chan struct{}, 10), make(chan struct{})
	f := newFixture(t, func(c *Config, d *Deps) {
		c.WriteBodyLimit = 1 << 20
		c.QueryWait = 50 * time.Millisecond
		d.WriteV1 = func(context.Context, []byte) error {
			inside <- struct{}{}
			<-release
			return nil
		}
	})
	send := func(n int) answer {
		return f.post("/api/v1/write", string(snappy.Encode(nil, make([]byte, n))), "Content-Type", "application/x-protobuf", "Content-Encoding", "snappy")
	}
	first := make(chan answer)
	go func() { first <- send(900 << 10) }()
	<-inside
	if a := send(900 << 10); a.status != http.StatusServiceUnavailable || a.env(t).Code != "too_many_writes" {
		t.Errorf("a second large write: %d %s", a.status, a.body)
	}
	small := make(chan answer)
	go func() { small <- send(1000) }()
	<-inside
	close(release)
	if a, b := <-first, <-small; a.status != 204 || b.status != 204 {
		t.Errorf("answers %d and %d", a.status, b.status)
	}
	if a := send(900 << 10); a.status != 204 {
		t.Errorf("room was not given back: %d", a.status)
	}
}
