package query

import "time"

// NowRequest asks for one row per model and service. The zero value asks for
// now, an hour of sparkline and 60 points.
type NowRequest struct {
	At     time.Time
	Window time.Duration
	Points int
	// Filter narrows the rows; empty fields match everything.
	Filter Filter
}

// Filter selects entities by identity labels; empty fields match everything.
type Filter struct {
	Cluster, Region, Namespace, Service, Model, Version, Instance, Node, GPU string
}

// By is the label a series request is split by.
type By string

// Splits a chart can ask for.
const (
	ByNothing  By = ""
	ByVersion  By = "version"
	ByInstance By = "instance"
	ByNode     By = "node"
	ByGPU      By = "gpu"
)

// SeriesRequest asks for whole lines of one or more canonical signals. From and
// To are both included; Step zero picks one that gives about 300 points.
type SeriesRequest struct {
	Signals  []string
	Filter   Filter
	From, To time.Time
	Step     time.Duration
	By       By
}

// HardwareRequest asks for the GPU grid; the zero At is now.
type HardwareRequest struct {
	At     time.Time
	Filter Filter
}

// SignalsRequest asks which signals of the catalogue exist for the entities and
// why the others do not; the zero At is now.
type SignalsRequest struct {
	At     time.Time
	Filter Filter
}
