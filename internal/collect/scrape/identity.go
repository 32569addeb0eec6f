package scrape

import (
	"sort"
	"strings"

	common "github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/relabel"

	"sightline/internal/model"
)

// rule sets label to replacement when the values of from, joined by ";", match.
func rule(label, replacement, match string, from ...string) *relabel.Config {
	names := make(common.LabelNames, len(from))
	for i, f := range from {
		names[i] = common.LabelName(f)
	}
	return &relabel.Config{
		SourceLabels: names, Separator: ";", Regex: relabel.MustNewRegexp(match),
		TargetLabel: label, Replacement: replacement, Action: relabel.Replace,
		NameValidationScheme: common.UTF8Validation,
	}
}

// identityRules derive the canonical identity, for static and discovered
// targets alike: scrape_address is what is scraped; node is the host part, or
// this machine for loopback; instance is namespace/pod, else what the user
// named, else node:port.
func identityRules(thisHost string) []*relabel.Config {
	host := strings.ReplaceAll(thisHost, "$", "$$")
	return []*relabel.Config{
		rule(model.LabelScrapeAddress, "$1", `(.+)`, common.AddressLabel),
		rule(model.LabelService, "default", ``, model.LabelService),
		rule(common.JobLabel, "$1", `(?:discovery-.*|targets.*);(.+)`, common.JobLabel, model.LabelService),
		rule(model.LabelNode, "$1", `;\[?([^\]]+?)\]?(?::\d+)?`, model.LabelNode, common.AddressLabel),
		rule(model.LabelNode, host, `localhost|127\.\d+\.\d+\.\d+|::1|0\.0\.0\.0|::`, model.LabelNode),
		rule(model.LabelInstance, "$1/$2", `(.+);(.+)`, model.LabelNamespace, model.LabelPod),
		rule(model.LabelInstance, "$1:$2", `;(.+);.*:(\d+)`, model.LabelInstance, model.LabelNode, common.AddressLabel),
	}
}

// fillRules set the labels of ls where discovery has set none.
func fillRules(ls common.LabelSet) []*relabel.Config {
	names := make([]string, 0, len(ls))
	for name := range ls {
		names = append(names, string(name))
	}
	sort.Strings(names)
	var out []*relabel.Config
	for _, name := range names {
		value := strings.ReplaceAll(string(ls[common.LabelName(name)]), "$", "$$")
		match := ``
		switch name {
		case common.ScrapeIntervalLabel, common.ScrapeTimeoutLabel:
			match = `.*` // the loops preset these, so empty never occurs
		case common.JobLabel:
			match = `|discovery-.*`
		}
		out = append(out, rule(name, value, match, name))
	}
	return out
}
