package model

// ErrorKind is why a request failed. The list is closed: whatever cannot be
// told apart further is ErrorInternal.
type ErrorKind string

// The ten error kinds.
const (
	ErrorOOM             ErrorKind = "oom"
	ErrorInvalidInput    ErrorKind = "invalid_input"
	ErrorContextLength   ErrorKind = "context_length_exceeded"
	ErrorModelNotFound   ErrorKind = "model_not_found"
	ErrorModelLoadFailed ErrorKind = "model_load_failed"
	ErrorOverloaded      ErrorKind = "overloaded"
	ErrorTimeout         ErrorKind = "timeout"
	ErrorCancelled       ErrorKind = "cancelled"
	ErrorUnavailable     ErrorKind = "unavailable"
	ErrorInternal        ErrorKind = "internal"
)

// ErrorKinds is the closed list in the order in which consoles show it.
var ErrorKinds = []ErrorKind{
	ErrorOOM, ErrorInvalidInput, ErrorContextLength, ErrorModelNotFound,
	ErrorModelLoadFailed, ErrorOverloaded, ErrorTimeout, ErrorCancelled,
	ErrorUnavailable, ErrorInternal,
}

// Known reports whether k is in the closed list.
func (k ErrorKind) Known() bool {
	for _, e := range ErrorKinds {
		if e == k {
			return true
		}
	}
	return false
}
