package loadgen

import (
	"log/slog"
	"math"
	"testing"

	"sightline/internal/model"
)

func testLogger(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), nil))
}

func goodConfig() Config {
	c := DefaultConfig()
	c.Vision = []VisionPlan{{Traffic: Traffic{Model: "m", Targets: []Target{{URL: "http://127.0.0.1:1/"}}}}}
	c.Chat = []ChatPlan{{Traffic: Traffic{Model: "m", Targets: []Target{{URL: "http://127.0.0.1:2", Instance: "demo/chat-0"}}}}}
	return c
}

func TestDefaultsMakeAValidConfig(t *testing.T) {
	c := goodConfig()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	d := c.withDefaults()
	if v := d.Vision[0]; v.Name != "vision" || v.Rate != DefaultVisionRate || v.Arrivals != ArrivalTrace || v.Targets[0].URL != "http://127.0.0.1:1" || v.Targets[0].Instance != "127.0.0.1:1" || v.Targets[0].Weight != 1 {
		t.Errorf("vision %+v", v)
	}
	if v := d.Chat[0]; v.Name != "chat" || v.Rate != DefaultChatRate || v.Targets[0].Instance != "demo/chat-0" {
		t.Errorf("chat %+v", v)
	}
	if c.Vision[0].Name != "" || c.Vision[0].Targets[0].Weight != 0 {
		t.Error("defaults changed the caller's config")
	}
	if _, err := New(c, nil); err != nil {
		t.Error(err)
	}
}

func TestConfigRefusesWhatCannotWork(t *testing.T) {
	for name, spoil := range map[string]func(*Config){
		"no plan":         func(c *Config) { c.Vision, c.Chat = nil, nil },
		"same name":       func(c *Config) { c.Chat[0].Name = "vision" },
		"no model":        func(c *Config) { c.Vision[0].Model = "" },
		"arrivals":        func(c *Config) { c.Vision[0].Arrivals = "weird" },
		"rate":            func(c *Config) { c.Chat[0].Rate = -1 },
		"rate NaN":        func(c *Config) { c.Chat[0].Rate = math.NaN() },
		"no target":       func(c *Config) { c.Chat[0].Targets = nil },
		"target":          func(c *Config) { c.Chat[0].Targets[0].URL = "127.0.0.1:8000" },
		"target userinfo": func(c *Config) { c.Chat[0].Targets[0].URL = "http://u:p@x" },
		"weights": func(c *Config) {
			c.Chat[0].Targets = []Target{{URL: "http://x", Weight: 1}, {URL: "http://y", Weight: -1}}
		},
		"trace":          func(c *Config) { c.Chat[0].Trace = []Arrival{{}} },
		"in flight":      func(c *Config) { c.Chat[0].MaxInFlight = -1 },
		"timeout":        func(c *Config) { c.Chat[0].Timeout = -1 },
		"ring":           func(c *Config) { c.RingSize = -1 },
		"drain":          func(c *Config) { c.DrainTimeout = -1 },
		"datatype":       func(c *Config) { c.Vision[0].Datatype = "FP16" },
		"layout":         func(c *Config) { c.Vision[0].Layout = "HW" },
		"channels":       func(c *Config) { c.Vision[0].Channels = 100 },
		"size":           func(c *Config) { c.Vision[0].Sizes = []Choice[int]{{100_000, 1}} },
		"oversized":      func(c *Config) { c.Vision[0].OversizedShare = 2 },
		"oversized edge": func(c *Config) { c.Vision[0].OversizedEdge = 1 << 20 },
		"chars":          func(c *Config) { c.Chat[0].CharsPerToken = -1 },
		"tokens":         func(c *Config) { c.Chat[0].MaxOutputTokens = -5 },
		"scale":          func(c *Config) { c.Chat[0].PromptScale = -5 },
		"systems":        func(c *Config) { c.Chat[0].SystemPrompts = -1 },
		"plain":          func(c *Config) { c.Chat[0].PlainShare = -.1 },
	} {
		c := goodConfig()
		spoil(&c)
		err := c.Validate()
		if model.CodeOf(err) != "loadgen_config" {
			t.Errorf("%s: %v", name, err)
		}
		if g, err := New(c, nil); err == nil || g != nil {
			t.Errorf("%s: New passes", name)
		}
	}
}
