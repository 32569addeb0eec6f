package query

// Reason says why a value is missing or is a substitute: a code for machines,
// a sentence for people and what would give the real thing.
type Reason struct {
	Code   string `json:"code"`
	Text   string `json:"text"`
	Remedy string `json:"remedy,omitempty"`
}

// Substitute tells which operation or signal stands in for the one asked for.
type Substitute struct {
	// Op is the operation shown instead, such as "mean" for a missing p99.
	Op string `json:"op,omitempty"`
	// Signal is the canonical name shown instead; empty when the name is the
	// same and only the method differs.
	Signal string `json:"signal,omitempty"`
}

// Value is one number with its origin. Value is nil when the number does not
// exist: missing is never zero. Units are those of the signal's name.
type Value struct {
	Value *float64 `json:"value"`
	// Signal is the canonical name that was read.
	Signal string `json:"signal,omitempty"`
	// Source is who measured: proxy, ebpf, server, dcgm or nvml.
	Source string `json:"source,omitempty"`
	// Method is how the number comes about: histogram, summary,
	// first_response_histogram, counter, gauge or mean.
	Method     string      `json:"method,omitempty"`
	Substitute *Substitute `json:"substitute,omitempty"`
	Reason     *Reason     `json:"reason,omitempty"`
	// WorstInstance is true when the number is that of the worst instance,
	// because the source cannot be merged over instances.
	WorstInstance bool `json:"worst_instance,omitempty"`
	Simulated     bool `json:"simulated,omitempty"`
}

// Spark is a short run of values for a sparkline; nil entries are gaps.
type Spark struct {
	Signal      string     `json:"signal"`
	Start       float64    `json:"start"`
	StepSeconds float64    `json:"step_seconds"`
	Values      []*float64 `json:"values"`
}

// NowRow is one model of one service.
type NowRow struct {
	// ID is service/model; with a namespace or cluster that would make two
	// rows collide it is prefixed by them.
	ID        string   `json:"id"`
	Cluster   string   `json:"cluster,omitempty"`
	Region    string   `json:"region,omitempty"`
	Namespace string   `json:"namespace,omitempty"`
	Service   string   `json:"service"`
	Model     string   `json:"model"`
	Dialects  []string `json:"dialects"`
	Versions  []string `json:"versions"`
	Instances []string `json:"instances"`
	// GPUs are UUIDs of the cards that serve this model's instances.
	GPUs []string `json:"gpus"`

	RequestRate Value `json:"request_rate"`
	ErrorRatio  Value `json:"error_ratio"`
	LatencyP50  Value `json:"latency_p50"`
	LatencyP99  Value `json:"latency_p99"`
	TTFTP99     Value `json:"ttft_p99"`
	// QueueShare is mean queue latency over mean request latency, 0..1.
	QueueShare Value `json:"queue_share"`
	Waiting    Value `json:"waiting"`
	// GPUBusy is the mean over GPUs, 0..1.
	GPUBusy Value `json:"gpu_busy"`
	// GPUMemory is used over total bytes of all GPUs, 0..1.
	GPUMemory Value `json:"gpu_memory"`

	Spark Spark `json:"spark"`
	// LastSample is when the row's newest sample was taken, Unix seconds.
	LastSample float64 `json:"last_sample"`
	// Stale is true when the newest sample is older than four rule intervals.
	Stale     bool `json:"stale"`
	Simulated bool `json:"simulated,omitempty"`
	// Warming is true while an instance of the row has been known for less than
	// the window of rates: rates still read too low.
	Warming bool `json:"warming,omitempty"`
}

// NowAnswer is one row per model and service.
type NowAnswer struct {
	At            float64  `json:"at"`
	WindowSeconds float64  `json:"window_seconds"`
	StepSeconds   float64  `json:"step_seconds"`
	Rows          []NowRow `json:"rows"`
	// Warnings belong into the envelope of the HTTP answer.
	Warnings []string `json:"-"`
}

// Line is one labelled run of values on the shared grid of the answer; nil
// entries are gaps.
type Line struct {
	Labels map[string]string `json:"labels"`
	Values []*float64        `json:"values"`
}

// SignalSeries is one asked signal with its lines and its origin.
type SignalSeries struct {
	// Signal is the name as asked.
	Signal string `json:"signal"`
	// Level is the level at which the lines were computed; it differs from the
	// name's level when a split was asked.
	Level         string      `json:"level"`
	Unit          string      `json:"unit"`
	Meaning       string      `json:"meaning,omitempty"`
	Source        string      `json:"source,omitempty"`
	Method        string      `json:"method,omitempty"`
	Substitute    *Substitute `json:"substitute,omitempty"`
	Reason        *Reason     `json:"reason,omitempty"`
	Absent        *Reason     `json:"absent,omitempty"`
	WorstInstance bool        `json:"worst_instance,omitempty"`
	Simulated     bool        `json:"simulated,omitempty"`
	Series        []Line      `json:"series"`
}

// Gap is a stretch without any sample of the asked entities.
type Gap struct {
	From   float64 `json:"from"`
	To     float64 `json:"to"`
	Reason string  `json:"reason"`
}

// SeriesAnswer holds the lines of all asked signals on one grid: the i-th
// value of every line is at Start + i*StepSeconds.
type SeriesAnswer struct {
	Start       float64        `json:"start"`
	End         float64        `json:"end"`
	StepSeconds float64        `json:"step_seconds"`
	Signals     []SignalSeries `json:"signals"`
	Gaps        []Gap          `json:"gaps"`
	Warnings    []string       `json:"-"`
}

// GPURow is one card, or one MIG slice's parent card.
type GPURow struct {
	GPU       string   `json:"gpu"`
	GPUIndex  string   `json:"gpu_index,omitempty"`
	GPUModel  string   `json:"gpu_model,omitempty"`
	Node      string   `json:"node,omitempty"`
	Simulated bool     `json:"simulated,omitempty"`
	Instances []string `json:"instances"`
	Models    []string `json:"models"`

	Busy             Value `json:"busy"`
	MemoryUsedBytes  Value `json:"memory_used_bytes"`
	MemoryTotalBytes Value `json:"memory_total_bytes"`
	PowerWatts       Value `json:"power_watts"`
	PowerLimitWatts  Value `json:"power_limit_watts"`
	Temperature      Value `json:"temperature_celsius"`
	SMClockHertz     Value `json:"sm_clock_hertz"`
	SMClockMaxHertz  Value `json:"sm_clock_max_hertz"`
	// ClockLimited is the largest share over the reasons, 0..1.
	ClockLimited Value `json:"clock_limited"`
	// XID is new XIDs per second, all codes.
	XID        Value   `json:"xid"`
	LastSample float64 `json:"last_sample"`
	Stale      bool    `json:"stale"`
}

// NodeRow is one node with its cards.
type NodeRow struct {
	Node string   `json:"node"`
	GPUs []GPURow `json:"gpus"`
}

// HardwareAnswer is the GPU grid by node.
type HardwareAnswer struct {
	At       float64   `json:"at"`
	Nodes    []NodeRow `json:"nodes"`
	Warnings []string  `json:"-"`
}

// SignalRow says of one catalogue signal whether the asked entities have it,
// and where not, why.
type SignalRow struct {
	Signal  string `json:"signal"`
	Level   string `json:"level"`
	Group   string `json:"group"`
	Unit    string `json:"unit"`
	Meaning string `json:"meaning"`
	Present bool   `json:"present"`
	Source  string `json:"source,omitempty"`
	Method  string `json:"method,omitempty"`
	// Absent is set when Present is false.
	Absent *Reason `json:"absent,omitempty"`
	// Entities counts the entities that have the signal now.
	Entities int `json:"entities"`
}

// DialectRow is one dialect that the server knows.
type DialectRow struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Active is true when live rules run for the dialect.
	Active bool `json:"active"`
}

// SignalsAnswer lists every signal of the catalogue for the asked entities.
type SignalsAnswer struct {
	At       float64      `json:"at"`
	Signals  []SignalRow  `json:"signals"`
	Dialects []DialectRow `json:"dialects"`
	Warnings []string     `json:"-"`
}
