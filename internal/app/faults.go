package app

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sightline/internal/loadgen"
	"sightline/internal/model"
)

// fault is one thing that the demo can do to itself. Its name is the cause that
// it makes true.
type fault struct {
	name string
	what string
	// start injects it into a running fleet.
	start func(f *fleet) error
}

// faults are real changes of load, engines or cards; nothing is painted into
// the numbers.
var faults = []fault{
	{"traffic.surge", "three times the vision traffic", func(f *fleet) error { return f.load.SetRate(visionService, 3) }},
	{"gpu.oom", "one in twenty vision requests carries a batch of oversized images that does not fit the card: out of memory, context lost, model reloaded; watch errors of the kinds internal and timeout, the load time of the model, and a card that is idle with its memory full", func(f *fleet) error {
		return f.load.SetOversizedShare(visionService, 0.05)
	}},
	{"batch.window_too_long", "the vision batcher waits 300 ms for a full batch", func(f *fleet) error {
		for _, s := range f.vision {
			for _, v := range []string{"1", "2"} {
				if err := s.SetBatchWindow(visionModel, v, 300*time.Millisecond); err != nil {
					return err
				}
			}
		}
		return nil
	}},
	{"model.version_regression", "version 2 of the vision model becomes four times as costly", func(f *fleet) error {
		for _, s := range f.vision {
			if err := s.SetVersionCost(visionModel, "2", 4); err != nil {
				return err
			}
		}
		return nil
	}},
	{"lb.skew", "all vision traffic goes to one replica", func(f *fleet) error {
		return f.load.SetMix(visionService, loadgen.Mix{Targets: []float64{1, 0}})
	}},
	{"kv.exhausted", "the chat engine keeps an eighth of its KV cache", func(f *fleet) error {
		return f.chat.SetKVBlocks(max(1, f.chat.KVBlocks()/8))
	}},
	{"gpu.power_cap", "the card of vision-0 may draw only half of its power", func(f *fleet) error {
		f.cards[0].SetPowerLimit(f.cards[0].PowerLimit() / 2)
		return nil
	}},
	{"gpu.thermal_throttle", "the air at the card of vision-1 becomes 85 °C; the card slows down within a minute", func(f *fleet) error {
		f.cards[1].SetAmbient(85)
		return nil
	}},
}

// Faults lists the names that --fault takes.
func Faults() []string {
	out := []string{"none"}
	for _, f := range faults {
		out = append(out, f.name)
	}
	return out
}

func (s *DemoSettings) validate() error {
	if s.Fault == "" {
		s.Fault = "none"
	}
	for _, n := range Faults() {
		if n == s.Fault {
			return nil
		}
	}
	return &model.Problem{Code: "fault_unknown", Text: fmt.Sprintf("there is no fault named %q", s.Fault), Hint: "choose from " + strings.Join(Faults(), ", ")}
}

// injectFault waits for a healthy while, then injects the chosen fault once.
func (f *fleet) injectFault(ctx context.Context) error {
	after := f.settings.FaultAfter
	if after <= 0 {
		after = 30 * time.Second
	}
	t := time.NewTimer(after)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return nil
	case <-t.C:
	}
	for _, x := range faults {
		if x.name == f.settings.Fault {
			if err := x.start(f); err != nil {
				return fmt.Errorf("inject %s: %w", x.name, err)
			}
			f.log.Warn("fault injected", "fault", x.name, "what", x.what)
		}
	}
	<-ctx.Done()
	return nil
}
