package ingest

import "time"

// Limits bound what one source may send.
type Limits struct {
	// SeriesPerTarget is how many series a scrape target may keep alive.
	SeriesPerTarget int
	// SeriesPerSource is the same for a remote writer or OTLP client, behind
	// which there are usually many targets.
	SeriesPerSource int
	// FutureTolerance is how far ahead of this machine's clock a sample may be.
	FutureTolerance time.Duration
	// IdleAfter is how long a series may be silent before it frees its place,
	// so that pods may come and go.
	IdleAfter time.Duration
	// Sources bounds how many sources are told apart; later ones share one limit.
	Sources int
}

// DefaultLimits suit a server on one machine.
func DefaultLimits() Limits {
	return Limits{
		SeriesPerTarget: 50_000,
		SeriesPerSource: 500_000,
		FutureTolerance: 10 * time.Minute, // as in Prometheus' scrape loop and receiver
		IdleAfter:       15 * time.Minute,
		Sources:         5_000,
	}
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	if l.SeriesPerTarget <= 0 {
		l.SeriesPerTarget = d.SeriesPerTarget
	}
	if l.SeriesPerSource <= 0 {
		l.SeriesPerSource = d.SeriesPerSource
	}
	if l.FutureTolerance <= 0 {
		l.FutureTolerance = d.FutureTolerance
	}
	if l.IdleAfter <= 0 {
		l.IdleAfter = d.IdleAfter
	}
	if l.Sources <= 0 {
		l.Sources = d.Sources
	}
	return l
}
