package scrape

import (
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"sort"
	"time"

	"github.com/alecthomas/units"
	configutil "github.com/prometheus/common/config"
	common "github.com/prometheus/common/model"
	promconfig "github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/dns"
	"github.com/prometheus/prometheus/discovery/file"
	discoveryhttp "github.com/prometheus/prometheus/discovery/http"
	"github.com/prometheus/prometheus/discovery/targetgroup"

	"sightline/internal/model"
)

// Config lists what is scraped and how.
type Config struct {
	Targets   []TargetConfig
	Discovery []DiscoveryConfig
	// Interval and Timeout apply to targets that set none. The timeout may not
	// exceed the interval.
	Interval, Timeout time.Duration
	// BodySizeLimit in bytes, uncompressed; a larger answer fails the scrape.
	BodySizeLimit int64
	// AllowLinkLocal lists link-local addresses or prefixes that may be
	// scraped. The others are refused: cloud machines keep secrets there.
	AllowLinkLocal []string
}

// TargetConfig is one target that is known by its address. Empty identity
// fields are derived as model.LabelInstance describes.
type TargetConfig struct {
	// URL is host:port, http://host:port or a full URL; the path defaults to
	// /metrics.
	URL                                                           string
	Service, Instance, Namespace, Pod, Node, Cluster, Region, Job string
	// Labels are added to every series of the target.
	Labels            map[string]string
	Interval, Timeout time.Duration
	BodyLimit         int64
}

// DiscoveryConfig finds targets by one mechanism; exactly one of Files, HTTP
// and DNS is set. Target gives the identity and the defaults of what is found;
// its URL contributes scheme and path only and may be empty.
type DiscoveryConfig struct {
	Name    string   // unique; names the pool in Prometheus' target list
	Files   []string // globs of Prometheus file_sd files
	HTTP    string   // URL of a Prometheus http_sd endpoint
	DNS     []string // names to resolve
	DNSType string   // SRV (default), A, AAAA, MX or NS
	DNSPort int      // for all but SRV
	Refresh time.Duration
	Target  TargetConfig
}

// DefaultConfig scrapes nothing every five seconds.
func DefaultConfig() Config {
	return Config{
		Interval:      5 * time.Second,
		Timeout:       5 * time.Second,
		BodySizeLimit: 48 << 20,
	}
}

func (c Config) withDefaults() Config {
	d := DefaultConfig()
	if c.Interval == 0 {
		c.Interval = d.Interval
	}
	if c.Timeout == 0 {
		c.Timeout = min(d.Timeout, c.Interval)
	}
	if c.BodySizeLimit == 0 {
		c.BodySizeLimit = d.BodySizeLimit
	}
	return c
}

// Validate names the first setting that cannot work.
func (c Config) Validate() error {
	allow, err := newAddressPolicy(c.AllowLinkLocal)
	if err != nil {
		return err
	}
	_, _, err = c.withDefaults().build(allow)
	return err
}

// promptTargets is how many targets may all be scraped at once at the start;
// more are spread over their interval.
const promptTargets = 64

// firstScrapeOffset shifts Prometheus' jitter, which spreads first scrapes over
// the whole interval, so that a few targets appear within a second.
func (c Config) firstScrapeOffset() time.Duration {
	if len(c.Targets) > promptTargets {
		return 0
	}
	longest := c.Interval
	for _, t := range c.Targets {
		longest = max(longest, t.Interval)
	}
	return min(0, time.Second-longest)
}

func invalid(code, text, hint string) error {
	return &model.Problem{Code: code, Text: text, Hint: hint}
}

// build translates the configuration for the scrape loops and the discovery.
func (c Config) build(allow *addressPolicy) (*promconfig.Config, map[string]discovery.Configs, error) {
	// Only Load marks a configuration as complete.
	out, err := promconfig.Load("", slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, nil, fmt.Errorf("prometheus defaults: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, nil, fmt.Errorf("name of this machine: %w", err)
	}
	b := &builder{config: c, host: host, pools: map[string]*pool{}, seen: map[string]bool{}}
	for _, t := range c.Targets {
		if err := b.static(t, allow); err != nil {
			return nil, nil, err
		}
	}
	for _, d := range c.Discovery {
		if err := b.discovered(d, allow); err != nil {
			return nil, nil, err
		}
	}
	sources := map[string]discovery.Configs{}
	for _, p := range b.order {
		if err := p.scrape.Validate(out.GlobalConfig); err != nil {
			return nil, nil, &model.Problem{Code: "scrape_config_invalid", Text: "scrape settings of " + p.scrape.JobName, Err: err}
		}
		out.ScrapeConfigs = append(out.ScrapeConfigs, p.scrape)
		if len(p.groups) > 0 {
			p.sources = append(p.sources, discovery.StaticConfig(p.groups))
		}
		sources[p.scrape.JobName] = p.sources
	}
	return out, sources, nil
}

// pool is a set of targets with the same settings.
type pool struct {
	scrape  *promconfig.ScrapeConfig
	groups  []*targetgroup.Group
	sources discovery.Configs
}

type builder struct {
	config Config
	host   string
	pools  map[string]*pool
	order  []*pool
	seen   map[string]bool
}

func (b *builder) newPool(name string, bodyLimit int64, params url.Values) *pool {
	yes := true
	sc := promconfig.DefaultScrapeConfig
	sc.JobName = name
	sc.ScrapeInterval = common.Duration(b.config.Interval)
	sc.ScrapeTimeout = common.Duration(b.config.Timeout)
	sc.BodySizeLimit = units.Base2Bytes(bodyLimit)
	sc.Params = params
	sc.ScrapeNativeHistograms = &yes
	// Dialects read the classic buckets too.
	sc.AlwaysScrapeClassicHistograms = &yes
	sc.ScrapeProtocols = []promconfig.ScrapeProtocol{promconfig.PrometheusProto, promconfig.OpenMetricsText1_0_0, promconfig.OpenMetricsText0_0_1, promconfig.PrometheusText1_0_0, promconfig.PrometheusText0_0_4}
	// Small exporters often send no content type.
	sc.ScrapeFallbackProtocol = promconfig.PrometheusText0_0_4
	sc.TrackTimestampsStaleness = true
	sc.HTTPClientConfig = configutil.DefaultHTTPClientConfig
	sc.HTTPClientConfig.FollowRedirects = false
	sc.RelabelConfigs = identityRules(b.host)
	p := &pool{scrape: &sc}
	b.order = append(b.order, p)
	return p
}

// static adds a target to the pool of those with the same settings.
func (b *builder) static(t TargetConfig, allow *addressPolicy) error {
	u, err := ParseURL(t.URL)
	if err != nil {
		return err
	}
	if err := allow.checkHost(u.Hostname()); err != nil {
		return err
	}
	if b.seen[u.String()] {
		return invalid("target_repeated", fmt.Sprintf("target %s is listed twice", u), "remove one of the two")
	}
	b.seen[u.String()] = true
	limit := t.BodyLimit
	if limit == 0 {
		limit = b.config.BodySizeLimit
	}
	key := fmt.Sprintf("%d?%s", limit, u.RawQuery)
	p := b.pools[key]
	if p == nil {
		name := "targets"
		if len(b.pools) > 0 {
			name = fmt.Sprintf("targets-%d", len(b.pools)+1)
		}
		p = b.newPool(name, limit, u.Query())
		b.pools[key] = p
	}
	ls, err := t.labelSet(b.config)
	if err != nil {
		return err
	}
	ls[common.AddressLabel] = common.LabelValue(u.Host)
	ls[common.SchemeLabel] = common.LabelValue(u.Scheme)
	ls[common.MetricsPathLabel] = common.LabelValue(u.Path)
	p.groups = append(p.groups, &targetgroup.Group{Targets: []common.LabelSet{ls}, Source: u.String()})
	return nil
}

func (b *builder) discovered(d DiscoveryConfig, allow *addressPolicy) error {
	if d.Name == "" || b.seen["discovery "+d.Name] {
		return invalid("scrape_config_invalid", fmt.Sprintf("discovery %q has no name of its own", d.Name), "give each discovery a unique name")
	}
	b.seen["discovery "+d.Name] = true
	ls, err := d.Target.labelSet(b.config)
	if err != nil {
		return err
	}
	limit := d.Target.BodyLimit
	if limit == 0 {
		limit = b.config.BodySizeLimit
	}
	var params url.Values
	scheme, path := "http", "/metrics"
	if d.Target.URL != "" {
		u, err := url.Parse(d.Target.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" {
			return invalid("target_url_invalid", fmt.Sprintf("discovery %s has the target URL %q", d.Name, d.Target.URL), "write scheme and path, such as https://any/metrics")
		}
		scheme, params = u.Scheme, u.Query()
		if u.Path != "" && u.Path != "/" {
			path = u.Path
		}
	}
	p := b.newPool("discovery-"+d.Name, limit, params)
	p.scrape.Scheme, p.scrape.MetricsPath = scheme, path
	p.scrape.RelabelConfigs = append(fillRules(ls), p.scrape.RelabelConfigs...)
	source, err := d.source(allow)
	if err != nil {
		return err
	}
	p.sources = append(p.sources, source)
	return nil
}

// source is the one mechanism that d names.
func (d DiscoveryConfig) source(allow *addressPolicy) (discovery.Config, error) {
	var out []discovery.Config
	if len(d.Files) > 0 {
		sd := file.DefaultSDConfig
		sd.Files = d.Files
		if d.Refresh > 0 {
			sd.RefreshInterval = common.Duration(d.Refresh)
		}
		out = append(out, &sd)
	}
	if d.HTTP != "" {
		u, err := url.Parse(d.HTTP)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, invalid("scrape_config_invalid", fmt.Sprintf("discovery %s has the address %q", d.Name, d.HTTP), "write an http or https URL")
		}
		if err := allow.checkHost(u.Hostname()); err != nil {
			return nil, err
		}
		sd := discoveryhttp.DefaultSDConfig
		sd.URL = d.HTTP
		sd.HTTPClientConfig.FollowRedirects = false
		if d.Refresh > 0 {
			sd.RefreshInterval = common.Duration(d.Refresh)
		}
		out = append(out, &sd)
	}
	if len(d.DNS) > 0 {
		sd := dns.DefaultSDConfig
		sd.Names = d.DNS
		if d.DNSType != "" {
			sd.Type = d.DNSType
		}
		switch sd.Type {
		case "SRV":
		case "A", "AAAA", "MX", "NS":
			if d.DNSPort <= 0 || d.DNSPort > 65535 {
				return nil, invalid("scrape_config_invalid", fmt.Sprintf("discovery %s asks for %s records with port %d", d.Name, sd.Type, d.DNSPort), "give the port of the targets")
			}
		default:
			return nil, invalid("scrape_config_invalid", fmt.Sprintf("discovery %s asks for records of type %q", d.Name, sd.Type), "use SRV, A, AAAA, MX or NS")
		}
		sd.Port = d.DNSPort
		if d.Refresh > 0 {
			sd.RefreshInterval = common.Duration(d.Refresh)
		}
		out = append(out, &sd)
	}
	if len(out) != 1 {
		return nil, invalid("scrape_config_invalid", fmt.Sprintf("discovery %s has %d mechanisms", d.Name, len(out)), "set exactly one of files, http and dns")
	}
	return out[0], nil
}

// labelSet gives the target's labels, identity first.
func (t TargetConfig) labelSet(c Config) (common.LabelSet, error) {
	ls := common.LabelSet{}
	names := make([]string, 0, len(t.Labels))
	for name := range t.Labels {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if !common.LegacyValidation.IsValidLabelName(name) || len(name) > 1 && name[:2] == "__" {
			return nil, invalid("target_label_invalid", fmt.Sprintf("target %s has the label name %q", t.URL, name), "use letters, digits and _, not beginning with a digit or __")
		}
		ls[common.LabelName(name)] = common.LabelValue(t.Labels[name])
	}
	service := t.Service
	if service == "" && ls[model.LabelService] == "" {
		service = "default"
	}
	for name, value := range map[string]string{
		model.LabelService: service, model.LabelInstance: t.Instance, model.LabelNamespace: t.Namespace,
		model.LabelPod: t.Pod, model.LabelNode: t.Node, model.LabelCluster: t.Cluster, model.LabelRegion: t.Region,
		common.JobLabel: t.Job,
	} {
		if value != "" {
			ls[common.LabelName(name)] = common.LabelValue(value)
		}
	}
	if ls[common.JobLabel] == "" {
		ls[common.JobLabel] = ls[model.LabelService]
	}
	for name, value := range ls {
		if !value.IsValid() {
			return nil, invalid("target_label_invalid", fmt.Sprintf("label %s of target %s is not UTF-8", name, t.URL), "write it in UTF-8")
		}
	}
	interval, timeout := t.Interval, t.Timeout
	if interval == 0 {
		interval = c.Interval
	}
	if timeout == 0 {
		timeout = min(c.Timeout, interval)
	}
	switch {
	case interval < 100*time.Millisecond:
		return nil, invalid("scrape_config_invalid", fmt.Sprintf("the scrape interval of %s is %s", t.URL, interval), "give 100ms or more")
	case timeout <= 0 || timeout > interval:
		return nil, invalid("scrape_config_invalid", fmt.Sprintf("the scrape timeout of %s is %s with an interval of %s", t.URL, timeout, interval), "give a timeout between 0 and the interval")
	case t.BodyLimit < 0 || c.BodySizeLimit < 0:
		return nil, invalid("scrape_config_invalid", fmt.Sprintf("the body size limit of %s is negative", t.URL), "give a number of bytes")
	}
	ls[common.ScrapeIntervalLabel] = common.LabelValue(common.Duration(interval).String())
	ls[common.ScrapeTimeoutLabel] = common.LabelValue(common.Duration(timeout).String())
	return ls, nil
}
