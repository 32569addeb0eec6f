package vision

import (
	"context"
	"fmt"
	"log/slog"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// The states of a version in the repository, Triton's words.
const (
	stateReady       = "READY"
	stateUnavailable = "UNAVAILABLE"
	stateLoading     = "LOADING"
	stateUnloading   = "UNLOADING"
)

// slot is a place for a version in the repository; loaded is nil unless READY
// or UNLOADING.
type slot struct {
	cfg    VersionConfig
	state  string
	reason string
	loaded *version
}

// repoModel is a model that the repository knows, loaded or not.
type repoModel struct {
	cfg   ModelConfig
	slots []*slot // by version number
}

// repository holds the models of the process.
type repository struct {
	ctx     *deviceContext
	log     *slog.Logger
	now     func() time.Time
	staging atomic.Int64
	build   func(ModelConfig, VersionConfig) classifier // tests replace it
	drain   time.Duration

	loading sync.Mutex // one load, unload or recovery at a time

	mu     sync.Mutex
	models map[string]*repoModel
}

func newRepository(ctx *deviceContext, cfg Config) *repository {
	r := &repository{ctx: ctx, log: cfg.Log, now: time.Now, models: map[string]*repoModel{}, drain: cfg.DrainTimeout, build: func(m ModelConfig, v VersionConfig) classifier {
		n, _ := strconv.ParseUint(v.Version, 10, 64) // checked by withDefaults
		return newNetwork(m.Seed*1000+n, v.Width, m.Hidden, m.Classes)
	}}
	for _, m := range cfg.Models {
		rm := &repoModel{cfg: m}
		for _, v := range m.Versions {
			rm.slots = append(rm.slots, &slot{cfg: v, state: stateUnavailable})
		}
		sort.Slice(rm.slots, func(i, j int) bool { return num(rm.slots[i].cfg.Version) < num(rm.slots[j].cfg.Version) })
		r.models[m.Name] = rm
	}
	return r
}

func num(v string) int64 {
	n, _ := strconv.ParseInt(v, 10, 64) // checked by withDefaults
	return n
}

// load loads all versions of a model, again when they are loaded: the old ones
// serve until the new ones are ready, and the new ones count from zero.
func (r *repository) load(name string) *failure {
	r.loading.Lock()
	defer r.loading.Unlock()
	r.mu.Lock()
	m, known := r.models[name]
	r.mu.Unlock()
	if !known {
		return invalid(fmt.Sprintf("failed to load '%s', failed to poll from model repository", name))
	}
	for _, s := range m.slots {
		v := r.newVersion(m, s.cfg)
		r.mu.Lock()
		old := s.loaded
		if old == nil {
			s.state, s.reason = stateLoading, ""
		}
		r.mu.Unlock()
		err := v.start(m.cfg.Instances)
		r.mu.Lock()
		if err != nil {
			if old == nil {
				s.state, s.reason = stateUnavailable, "Internal: "+err.Error()
			}
			r.mu.Unlock()
			r.log.Error("model did not load", "model", name, "version", s.cfg.Version, "error", err)
			return invalid(fmt.Sprintf("load failed for model '%s': version %s is at UNAVAILABLE state: Internal: %s;\n", name, s.cfg.Version, err))
		}
		s.loaded, s.state, s.reason = v, stateReady, ""
		r.mu.Unlock()
		if old != nil {
			r.stop(old)
		}
		r.log.Info("model loaded", "model", name, "version", s.cfg.Version, "seconds", time.Duration(v.loadSecs.Load()).Seconds())
	}
	return nil
}

func (r *repository) newVersion(m *repoModel, c VersionConfig) *version {
	v := &version{model: &m.cfg, name: c.Version, ctx: r.ctx, log: r.log, now: r.now, staging: &r.staging,
		build: func() classifier { return r.build(m.cfg, c) }}
	v.stats = newStats(r.now)
	v.batcher = newBatcher(m.cfg.policy(), v.dropped, v.stats.batchFormed)
	v.onLost = r.recover
	v.setCost(c.Cost)
	return v
}

func (r *repository) stop(v *version) {
	ctx, cancel := context.WithTimeout(context.Background(), r.drain)
	defer cancel()
	v.stop(ctx)
}

// unload stops all versions of a model.
func (r *repository) unload(name string) *failure {
	r.loading.Lock()
	defer r.loading.Unlock()
	r.mu.Lock()
	m, known := r.models[name]
	if !known {
		r.mu.Unlock()
		return invalid(fmt.Sprintf("failed to unload '%s', model is not in the repository", name))
	}
	var gone []*version
	for _, s := range m.slots {
		if s.loaded != nil {
			gone = append(gone, s.loaded)
			s.state = stateUnloading
		}
	}
	r.mu.Unlock()
	for _, v := range gone {
		r.stop(v)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range m.slots {
		s.loaded, s.state, s.reason = nil, stateUnavailable, "unloaded"
	}
	r.log.Info("model unloaded", "model", name)
	return nil
}

// recover drops the context of the card and loads every version again while
// requests wait in the queues. The arena stays: memory that a process has
// taken from the card it keeps. Called by the instance that met the failure.
func (r *repository) recover() {
	if !r.ctx.lose() {
		return // another instance is at it
	}
	defer r.ctx.recovered()
	begin := r.now()
	for _, v := range r.all() {
		v.drop()
	}
	for _, v := range r.all() {
		if v.life.Err() != nil {
			continue // being stopped
		}
		if err := v.load(v.model.RecoveryPasses); err != nil {
			r.log.Error("model did not load again", "model", v.model.Name, "version", v.name, "error", err)
		}
		if v.life.Err() != nil {
			v.drop() // stopped meanwhile
		}
	}
	r.log.Warn("device context was lost; models loaded again", "seconds", r.now().Sub(begin).Seconds())
}

// find gives the version that a request means; version "" means the newest
// that is ready. The failures are Triton's.
func (r *repository) find(name, ver string) (*version, *failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	unknown := func(rest string) (*version, *failure) {
		return nil, notFound(fmt.Sprintf("Request for unknown model: '%s' %s", name, rest))
	}
	m, known := r.models[name]
	if !known {
		return unknown("is not found")
	}
	if ver == "" {
		for i := len(m.slots) - 1; i >= 0; i-- {
			if s := m.slots[i]; s.state == stateReady {
				return s.loaded, nil
			}
		}
		return unknown("has no available versions")
	}
	if n, err := strconv.ParseInt(ver, 10, 64); err != nil || n < 1 {
		return nil, invalid(fmt.Sprintf("failed to get model version from specified version string '%s' (details: stoll), version should be an integral value > 0", ver))
	}
	for _, s := range m.slots {
		if num(s.cfg.Version) == num(ver) {
			if s.state == stateReady {
				return s.loaded, nil
			}
			return nil, unavailable(fmt.Sprintf("Request for unknown model: '%s' version %s is not at ready state", name, ver))
		}
	}
	return unknown("version " + ver + " is not found")
}

// all gives the loaded versions by model and version.
func (r *repository) all() []*version {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*version
	for _, m := range r.models {
		for _, s := range m.slots {
			if s.loaded != nil {
				out = append(out, s.loaded)
			}
		}
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].model.Name != out[j].model.Name {
			return out[i].model.Name < out[j].model.Name
		}
		return out[i].number() < out[j].number()
	})
	return out
}

// indexEntry is a row of the repository index.
type indexEntry struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	State   string `json:"state,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

func (r *repository) index(readyOnly bool) []indexEntry {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := []indexEntry{}
	for _, m := range r.models {
		for _, s := range m.slots {
			if !readyOnly || s.state == stateReady {
				out = append(out, indexEntry{m.cfg.Name, s.cfg.Version, s.state, s.reason})
			}
		}
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Name != out[j].Name {
			return out[i].Name < out[j].Name
		}
		return num(out[i].Version) < num(out[j].Version)
	})
	return out
}

// ready reports whether every version that the repository should serve is.
func (r *repository) ready() bool {
	for _, e := range r.index(false) {
		if e.State != stateReady && e.Reason != "unloaded" {
			return false
		}
	}
	return true
}

// stopAll stops every version and gives the device memory back.
func (r *repository) stopAll() {
	r.loading.Lock()
	defer r.loading.Unlock()
	var wg sync.WaitGroup
	for _, v := range r.all() {
		wg.Go(func() { r.stop(v) })
	}
	wg.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.models {
		for _, s := range m.slots {
			s.loaded, s.state, s.reason = nil, stateUnavailable, "unloaded"
		}
	}
	r.ctx.close()
}
