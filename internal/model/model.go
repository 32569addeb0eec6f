// Package model is the vocabulary that every other package shares: the labels
// that identify things, the levels at which a signal exists, the closed list of
// error kinds, time ranges and problems with a code. It does nothing, knows no
// I/O and imports only the standard library.
package model

// Label names that mean the same everywhere: in stored series, in the API, in
// the console and in the docs. An identity is a subset of these.
const (
	LabelCluster   = "cluster"
	LabelRegion    = "region"
	LabelNamespace = "namespace"
	LabelService   = "service"
	LabelModel     = "model"
	LabelVersion   = "version"
	// LabelInstance is the canonical id of one engine process: namespace/pod,
	// else node:lowest serving port, else what the user names. It is never the
	// scrape address; that is LabelScrapeAddress.
	LabelInstance = "instance"
	LabelPod      = "pod"
	LabelNode     = "node"
	// LabelGPU is the UUID of a card; the number a driver gives it on its node
	// is LabelGPUIndex.
	LabelGPU      = "gpu"
	LabelGPUIndex = "gpu_index"
	// LabelScrapeAddress is the host:port that a series was scraped from.
	LabelScrapeAddress = "scrape_address"
	// LabelSource names who measured a candidate: proxy, ebpf, server, dcgm or nvml.
	LabelSource = "source"
	// LabelSimulated is "true" on series whose hardware is a model, not a device.
	LabelSimulated = "simulated"
	// LabelKind carries an ErrorKind on errors:rate.
	LabelKind = "kind"
)

// IdentityLabels lists the labels that together say what a series belongs to,
// from the widest to the narrowest.
var IdentityLabels = []string{
	LabelCluster, LabelRegion, LabelNamespace, LabelService, LabelModel,
	LabelVersion, LabelInstance, LabelPod, LabelNode, LabelGPU,
}

// Level is the kind of entity that a canonical series describes.
type Level string

// The levels of canonical series. Levels are never mixed in one name.
const (
	LevelService  Level = "service"
	LevelModel    Level = "model"
	LevelInstance Level = "instance"
	LevelGPU      Level = "gpu"
	LevelNode     Level = "node"
)

// Source says who measured a value.
type Source string

// Sources of candidates, see DESIGN.md "Sources".
const (
	SourceProxy  Source = "proxy"
	SourceEBPF   Source = "ebpf"
	SourceServer Source = "server"
	SourceDCGM   Source = "dcgm"
	SourceNVML   Source = "nvml"
)
