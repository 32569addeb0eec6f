package model

import (
	"fmt"
	"time"
)

// TimeRange is a window of time; both ends are included.
type TimeRange struct {
	Start, End time.Time
}

// Validate refuses a range whose end lies before its start.
func (r TimeRange) Validate() error {
	if r.End.Before(r.Start) {
		return &Problem{
			Code: "time_range_reversed",
			Text: fmt.Sprintf("time range ends at %s before it starts at %s", r.End.UTC().Format(time.RFC3339), r.Start.UTC().Format(time.RFC3339)),
			Hint: "swap the two ends",
		}
	}
	return nil
}

// Duration is the length of the range.
func (r TimeRange) Duration() time.Duration { return r.End.Sub(r.Start) }
