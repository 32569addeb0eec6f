package ruler

// WatchOnce and Drain are the steps of the background work, for tests that
// decide themselves when they happen.
var (
	WatchOnce = (*Ruler).watchOnce
	Drain     = (*Ruler).drain
)
