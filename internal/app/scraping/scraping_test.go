package scraping

import (
	"testing"
	"time"

	"sightline/internal/app/config"
)

func TestSettingsCarryEveryKind(t *testing.T) {
	c := config.Default().Scrape
	c.Labels = map[string]string{"team": "a", "rack": "1"}
	c.Targets = []config.Target{{URL: "h:1", Service: "s", Labels: map[string]string{"team": "b"}, Interval: config.Duration(time.Minute)}}
	c.Files, c.HTTP = []string{"a.json"}, []string{"http://h/sd"}
	c.DNS = []config.DNSConfig{{Names: []string{"x"}, Type: "A", Port: 9, Service: "gpu"}}
	got := Settings(c)
	if len(got.Targets) != 1 || got.Targets[0].Labels["team"] != "b" || got.Targets[0].Labels["rack"] != "1" || got.Targets[0].Interval != time.Minute {
		t.Errorf("targets %+v", got.Targets)
	}
	if len(got.Discovery) != 3 || got.Discovery[0].Files[0] != "a.json" || got.Discovery[1].HTTP != "http://h/sd" || got.Discovery[2].DNSPort != 9 || got.Discovery[2].Target.Service != "gpu" {
		t.Errorf("discovery %+v", got.Discovery)
	}
	if got.Interval != time.Duration(c.Interval) || got.BodySizeLimit != int64(c.BodySizeLimit) {
		t.Errorf("limits %+v", got)
	}
	if c.Targets[0].Labels["rack"] != "" {
		t.Error("the configuration itself was changed")
	}
}
