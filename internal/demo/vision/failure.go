package vision

import (
	"errors"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"sightline/internal/model"
)

// failure is an error as the protocol knows it: one of Triton's codes and a
// text that goes to the client as it is.
type failure struct {
	code codes.Code // Triton's codes have the names and numbers of gRPC's
	text string
	// reason is the label of the failure counter; empty when Triton does not
	// count the failure at all (it never reached the model).
	reason string
}

// Error is the text that the client gets.
func (f *failure) Error() string { return f.text }

// The label values of nv_inference_request_failure.
const (
	reasonRejected = "REJECTED"
	reasonCanceled = "CANCELED"
	reasonBackend  = "BACKEND"
	reasonOther    = "OTHER"
)

var reasons = []string{reasonBackend, reasonCanceled, reasonOther, reasonRejected}

func notFound(text string) *failure    { return &failure{code: codes.NotFound, text: text} }
func unavailable(text string) *failure { return &failure{code: codes.Unavailable, text: text} }
func invalid(text string) *failure     { return &failure{code: codes.InvalidArgument, text: text} }

// asFailure gives any error a code: what is not a failure is internal.
func asFailure(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	return &failure{code: codes.Internal, text: err.Error()}
}

// httpStatus maps codes as Triton's HTTP front end does since 24.01.
func (f *failure) httpStatus() int {
	switch f.code {
	case codes.NotFound:
		return http.StatusNotFound
	case codes.Unavailable:
		return http.StatusServiceUnavailable
	case codes.Internal:
		return http.StatusInternalServerError
	case codes.Unimplemented:
		return http.StatusNotImplemented
	}
	return http.StatusBadRequest
}

func (f *failure) grpcError() error { return status.Error(f.code, f.text) }

// problem is an error of configuration or control, for the person who starts
// the engine and not for its clients.
func problem(code, text, hint string) error {
	return &model.Problem{Code: code, Text: text, Hint: hint}
}
