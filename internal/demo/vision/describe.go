package vision

import (
	"sort"
	"strconv"
	"time"
)

// Identity of the server in metadata. It speaks Triton's protocol and is not
// Triton.
const (
	serverName    = "sightline-vision"
	serverVersion = "1.0.0"
	platform      = "sightline_conv"
)

var extensions = []string{"classification", "model_repository", "binary_tensor_data", "parameters", "statistics", "model_configuration", "schedule_policy"}

// tensorMeta describes a tensor in model metadata.
type tensorMeta struct {
	Name     string  `json:"name"`
	Datatype string  `json:"datatype"`
	Shape    []int64 `json:"shape"`
}

// modelMeta is the answer to a metadata request.
type modelMeta struct {
	Name     string       `json:"name"`
	Versions []string     `json:"versions"`
	Platform string       `json:"platform"`
	Inputs   []tensorMeta `json:"inputs"`
	Outputs  []tensorMeta `json:"outputs"`
}

// metadata describes a model; versions lists those that are ready.
func (r *repository) metadata(name, ver string) (*modelMeta, *failure) {
	v, f := r.find(name, ver)
	if f != nil {
		return nil, f
	}
	m := &modelMeta{Name: name, Versions: []string{}, Platform: platform,
		Inputs:  []tensorMeta{{inputName, datatypeF, []int64{-1, channelsIn, -1, -1}}},
		Outputs: []tensorMeta{{outputProb, datatypeF, []int64{-1, int64(v.model.Classes)}}, {outputLog, datatypeF, []int64{-1, int64(v.model.Classes)}}}}
	for _, e := range r.index(true) {
		if e.Name == name {
			m.Versions = append(m.Versions, e.Version)
		}
	}
	return m, nil
}

// The configuration of a model as Triton's JSON has it: proto field names,
// 64-bit integers as numbers.
type (
	configJSON struct {
		Name            string         `json:"name"`
		Platform        string         `json:"platform"`
		Backend         string         `json:"backend"`
		VersionPolicy   map[string]any `json:"version_policy"`
		MaxBatchSize    int            `json:"max_batch_size"`
		Input           []ioJSON       `json:"input"`
		Output          []ioJSON       `json:"output"`
		InstanceGroup   []groupJSON    `json:"instance_group"`
		DynamicBatching batchingJSON   `json:"dynamic_batching"`
	}
	ioJSON struct {
		Name     string  `json:"name"`
		DataType string  `json:"data_type"`
		Format   string  `json:"format,omitempty"`
		Dims     []int64 `json:"dims"`
	}
	groupJSON struct {
		Name  string  `json:"name"`
		Kind  string  `json:"kind"`
		Count int     `json:"count"`
		GPUs  []int32 `json:"gpus"`
	}
	batchingJSON struct {
		Preferred []int       `json:"preferred_batch_size"`
		DelayUS   int64       `json:"max_queue_delay_microseconds"`
		Ordering  bool        `json:"preserve_ordering"`
		Policy    queuePolicy `json:"default_queue_policy"`
	}
	queuePolicy struct {
		Action    string `json:"timeout_action"`
		TimeoutUS int64  `json:"default_timeout_microseconds"`
		Override  bool   `json:"allow_timeout_override"`
		MaxQueue  int    `json:"max_queue_size"`
	}
)

// config gives the configuration as it is now, faults included: window and
// instance count are those in force.
func (v *version) config() configJSON {
	p := v.batcher.policy()
	m := v.model
	preferred := p.preferred
	if preferred == nil {
		preferred = []int{}
	}
	return configJSON{
		Name: m.Name, Platform: platform, Backend: "sightline", VersionPolicy: map[string]any{"all": struct{}{}}, MaxBatchSize: p.maxBatch,
		Input: []ioJSON{{inputName, "TYPE_FP32", "FORMAT_NCHW", []int64{channelsIn, -1, -1}}},
		Output: []ioJSON{{Name: outputProb, DataType: "TYPE_FP32", Dims: []int64{int64(m.Classes)}},
			{Name: outputLog, DataType: "TYPE_FP32", Dims: []int64{int64(m.Classes)}}},
		InstanceGroup: []groupJSON{{m.Name + "_0", "KIND_GPU", v.instanceCount(), []int32{int32(v.ctx.dev.Index())}}},
		DynamicBatching: batchingJSON{Preferred: preferred, DelayUS: int64(p.window / time.Microsecond),
			Policy: queuePolicy{"REJECT", int64(p.timeout / time.Microsecond), p.allowOverride, p.maxQueue}},
	}
}

// The statistics extension in its JSON form. All durations are nanoseconds.
type (
	statsJSON struct {
		Name          string           `json:"name"`
		Version       string           `json:"version"`
		LastInference int64            `json:"last_inference"`
		Count         uint64           `json:"inference_count"`
		Executions    uint64           `json:"execution_count"`
		Inference     inferenceJSON    `json:"inference_stats"`
		Responses     map[string]any   `json:"response_stats"`
		Batches       []batchStatsJSON `json:"batch_stats"`
		Memory        []memoryJSON     `json:"memory_usage"`
	}
	inferenceJSON struct {
		Success   duration `json:"success"`
		Fail      duration `json:"fail"`
		Queue     duration `json:"queue"`
		Input     duration `json:"compute_input"`
		Infer     duration `json:"compute_infer"`
		Output    duration `json:"compute_output"`
		CacheHit  duration `json:"cache_hit"`
		CacheMiss duration `json:"cache_miss"`
	}
	batchStatsJSON struct {
		Size   int      `json:"batch_size"`
		Input  duration `json:"compute_input"`
		Infer  duration `json:"compute_infer"`
		Output duration `json:"compute_output"`
	}
	memoryJSON struct {
		Type  string `json:"type"`
		ID    int    `json:"id"`
		Bytes int64  `json:"byte_size"`
	}
)

// statistics reports a model and version, all versions when ver is empty, all
// models when name is.
func (r *repository) statistics(name, ver string) ([]statsJSON, *failure) {
	if name != "" {
		if _, f := r.find(name, ver); f != nil {
			return nil, f
		}
	}
	out := []statsJSON{}
	for _, v := range r.all() {
		if (name == "" || v.model.Name == name) && (ver == "" || strconv.FormatInt(v.number(), 10) == ver) {
			out = append(out, v.statistics())
		}
	}
	return out, nil
}

func (v *version) statistics() statsJSON {
	v.mu.Lock()
	weights := v.weights
	v.mu.Unlock()
	s := v.stats
	s.mu.Lock()
	defer s.mu.Unlock()
	j := statsJSON{Name: v.model.Name, Version: v.name, Count: s.items, Executions: s.executions, Responses: map[string]any{}, Batches: []batchStatsJSON{},
		Inference: inferenceJSON{Success: s.phase[0], Fail: s.fail, Queue: s.phase[1], Input: s.phase[2], Infer: s.phase[3], Output: s.phase[4]},
		Memory:    []memoryJSON{{"GPU", v.ctx.dev.Index(), weights}}}
	if !s.last.IsZero() {
		j.LastInference = s.last.UnixMilli()
	}
	for size, b := range s.batches {
		j.Batches = append(j.Batches, batchStatsJSON{size, b.input, b.infer, b.output})
	}
	sort.Slice(j.Batches, func(a, b int) bool { return j.Batches[a].Size < j.Batches[b].Size })
	return j
}
