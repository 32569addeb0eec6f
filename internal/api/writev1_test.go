package api

import (
	"context"
	"errors"
	"testing"

	"github.com/golang/snappy"

	"sightline/internal/model"
)

// What a sender does next depends on the status alone: 4xx drops the samples,
// 5xx keeps them.
func TestWriteV1AnswersSayWhatToDo(t *testing.T) {
	var result error
	f := newFixture(t, func(_ *Config, d *Deps) {
		d.WriteV1 = func(context.Context, []byte) error { return result }
	})
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{nil, 204, ""},
		{&model.Problem{Code: "samples_refused", Text: "some"}, 400, "samples_refused"},
		{&model.Problem{Code: "body_invalid", Text: "garbage"}, 400, "body_invalid"},
		{&model.Problem{Code: "disk_full", Text: "full"}, 500, "disk_full"},
		{errors.New("anything else"), 500, "internal"},
	} {
		result = c.err
		a := f.post("/api/v1/write", string(snappy.Encode(nil, []byte("x"))), "Content-Type", "application/x-protobuf", "Content-Encoding", "snappy")
		if a.status != c.status || (c.code != "" && a.env(t).Code != c.code) {
			t.Errorf("%v: %d %s", c.err, a.status, a.body)
		}
	}
	result = nil
	for body, status := range map[string]int{"": 400, "no snappy at all": 400, string(snappy.Encode(nil, []byte("x"))): 204} {
		if a := f.post("/api/v1/write", body, "Content-Type", "application/x-protobuf", "Content-Encoding", "snappy"); a.status != status {
			t.Errorf("%q: %d %s", body, a.status, a.body)
		}
	}
}
