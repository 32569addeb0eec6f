package metricstore

import (
	"fmt"
	"time"

	"sightline/internal/model"
)

// Config says where series live, how long, and what a query may cost.
type Config struct {
	// Dir is the data directory. It is created when missing and must belong to
	// this process alone.
	Dir string
	// Retention is how long blocks are kept; 0 keeps them for ever.
	Retention time.Duration
	// RetentionBytes bounds the size of blocks on disk; 0 does not.
	RetentionBytes int64
	// OutOfOrderWindow is how old a sample may be when it arrives late, behind
	// the newest of the store. An agent that was cut off must still be heard.
	OutOfOrderWindow time.Duration
	// MaxExemplars bounds the ring of exemplars in memory; 0 keeps none.
	MaxExemplars int64
	// QueryTimeout ends a query that runs longer.
	QueryTimeout time.Duration
	// QueryMaxSamples bounds the samples that one query may hold in memory, 16
	// bytes each.
	QueryMaxSamples int
	// QueryConcurrency is how many queries run at once; others wait.
	QueryConcurrency int
	// LookbackDelta is how old a sample may be and still count as now.
	LookbackDelta time.Duration
	// SubqueryStep is the step of a subquery that names none.
	SubqueryStep time.Duration
	// DiskReserve is the free space in bytes below which writes are refused,
	// capped at a twentieth of the file system. The TSDB panics when it cannot
	// write a chunk, so writing stops before that point.
	DiskReserve uint64
}

// DefaultConfig keeps 15 days in dir.
func DefaultConfig(dir string) Config {
	return Config{
		Dir:              dir,
		Retention:        15 * 24 * time.Hour,
		OutOfOrderWindow: 24 * time.Hour,
		MaxExemplars:     100_000,
		QueryTimeout:     30 * time.Second,
		QueryMaxSamples:  50_000_000,
		QueryConcurrency: 20,
		LookbackDelta:    5 * time.Minute,
		SubqueryStep:     time.Minute,
		DiskReserve:      64 << 20,
	}
}

// Validate names the first field that cannot work.
func (c Config) Validate() error {
	bad := func(field string, value any, want string) error {
		return &model.Problem{Code: "config_invalid", Text: fmt.Sprintf("storage %s is %v", field, value), Hint: "give " + want}
	}
	switch {
	case c.Dir == "":
		return bad("dir", `""`, "a directory")
	case c.Retention < 0:
		return bad("retention", c.Retention, "a duration of 0 (for ever) or more")
	case c.RetentionBytes < 0:
		return bad("retention_bytes", c.RetentionBytes, "0 (no limit) or more")
	case c.OutOfOrderWindow < 0:
		return bad("out_of_order_window", c.OutOfOrderWindow, "a duration of 0 or more")
	case c.MaxExemplars < 0:
		return bad("max_exemplars", c.MaxExemplars, "0 or more")
	case c.QueryTimeout <= 0:
		return bad("query_timeout", c.QueryTimeout, "a positive duration")
	case c.QueryMaxSamples <= 0:
		return bad("query_max_samples", c.QueryMaxSamples, "a positive number")
	case c.QueryConcurrency <= 0:
		return bad("query_concurrency", c.QueryConcurrency, "a positive number")
	case c.LookbackDelta <= 0:
		return bad("lookback_delta", c.LookbackDelta, "a positive duration")
	case c.SubqueryStep < time.Millisecond:
		return bad("subquery_step", c.SubqueryStep, "a millisecond or more")
	}
	return nil
}
