package model

import "errors"

// Problem is an error with a code for machines, a sentence for people and a
// hint that says what to do next. Text is lower case and names the thing and
// the value; Hint is an instruction and may be empty.
type Problem struct {
	Code string
	Text string
	Hint string
	Err  error
}

// Error joins text, cause and hint into one sentence.
func (p *Problem) Error() string {
	s := p.Text
	if p.Err != nil {
		s += ": " + p.Err.Error()
	}
	if p.Hint != "" {
		s += "; " + p.Hint
	}
	return s
}

// Unwrap gives the cause, so that errors.Is and errors.As see through p.
func (p *Problem) Unwrap() error { return p.Err }

// CodeOf returns the code of the first Problem in err's chain, or "internal"
// when there is none and "" when err is nil.
func CodeOf(err error) string {
	if err == nil {
		return ""
	}
	var p *Problem
	if errors.As(err, &p) {
		return p.Code
	}
	return "internal"
}
