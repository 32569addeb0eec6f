package loadgen

import (
	"time"

	"sightline/internal/model"
)

// Record is what the load generator knows about one request. It is written
// from the client's side only; Timings and BatchSize are what the engine said
// about this very request in its answer. What is not known is absent: nil, an
// empty string or a zero time, never a measured zero.
type Record struct {
	ID   uint64 `json:"id"`
	Plan string `json:"plan"`
	// Model and VersionAsked are what was asked for; Version is what answered.
	Model        string `json:"model"`
	VersionAsked string `json:"version_asked,omitempty"`
	Version      string `json:"version,omitempty"`
	// Instance names the target that the request was sent to.
	Instance string `json:"instance"`

	// Scheduled is when the request had to leave, Sent when it left. The two
	// differ when the generator itself was late.
	Scheduled time.Time `json:"scheduled"`
	Sent      time.Time `json:"sent,omitzero"`
	// Wrote is when the kernel had taken the whole request.
	Wrote time.Time `json:"wrote,omitzero"`
	// FirstByte is the first byte of the response head, FirstToken the first
	// chunk with content of a streamed answer, Done the last byte of the body
	// or the moment of failure.
	FirstByte  time.Time `json:"first_byte,omitzero"`
	FirstToken time.Time `json:"first_token,omitzero"`
	Done       time.Time `json:"done"`
	// TokenGaps are the times between content chunks of a stream.
	TokenGaps []time.Duration `json:"token_gaps_ns,omitempty"`

	// Status is the HTTP status, 0 when no answer came.
	Status int `json:"status,omitempty"`
	// Error is empty for a success.
	Error model.ErrorKind `json:"error,omitempty"`
	// Message is the start of the server's error text. It stays in memory: a
	// log on disk holds no text that came from a server.
	Message string `json:"-"`
	// Dropped says that the request never left because too many were in flight.
	Dropped bool `json:"dropped,omitempty"`
	// Abandoned says that the client left on purpose before the end.
	Abandoned bool `json:"abandoned,omitempty"`

	BytesOut int64 `json:"bytes_out,omitempty"`
	BytesIn  int64 `json:"bytes_in,omitempty"`
	// Items is the batch dimension of the request.
	Items int `json:"items,omitempty"`
	// Size is the edge of the images in pixels; Oversized marks the inputs that
	// are meant not to fit.
	Size      int  `json:"size,omitempty"`
	Oversized bool `json:"oversized,omitempty"`
	// Tokens is the usage that the server reported.
	Tokens *Usage `json:"tokens,omitempty"`
	Stream bool   `json:"stream,omitempty"`
	Finish string `json:"finish,omitempty"`

	// Timings are the engine's own phases of this request in seconds, by name
	// without unit: queue, compute_input, compute_infer, …
	Timings map[string]float64 `json:"timings,omitempty"`
	// Marks are the engine's wall-clock times of this request.
	Marks map[string]time.Time `json:"marks,omitempty"`
	// BatchSize is how many items ran together with this request, itself
	// included; 0 when the engine did not say.
	BatchSize float64 `json:"batch_size,omitempty"`
}

// Usage counts tokens as the server reported them.
type Usage struct {
	Prompt int `json:"prompt"`
	Output int `json:"output"`
	// Cached is nil when the server does not report it.
	Cached *int `json:"cached,omitempty"`
}

// Latency is the time from sending to the last byte.
func (r *Record) Latency() time.Duration { return r.Done.Sub(r.Sent) }

// FromSchedule is the time from when the request had to leave to the last
// byte: what a user feels when the generator or its machine stalls.
func (r *Record) FromSchedule() time.Duration { return r.Done.Sub(r.Scheduled) }

// FirstTokenLatency is the time from sending to the first content; ok is
// false when there was none.
func (r *Record) FirstTokenLatency() (d time.Duration, ok bool) {
	if r.FirstToken.IsZero() {
		return 0, false
	}
	return r.FirstToken.Sub(r.Sent), true
}

// OK reports whether the request left and succeeded.
func (r *Record) OK() bool { return r.Error == "" && !r.Dropped }
