// Package scraping turns the configuration section scrape into what the scraper
// takes; server and agent share it.
package scraping

import (
	"fmt"
	"time"

	"sightline/internal/app/config"
	"sightline/internal/collect/scrape"
)

// Settings turns the section into what the scraper takes, with more targets
// behind the configured ones.
func Settings(c config.ScrapeConfig, more ...scrape.TargetConfig) scrape.Config {
	sc := scrape.DefaultConfig()
	sc.Interval, sc.Timeout = time.Duration(c.Interval), time.Duration(c.Timeout)
	sc.BodySizeLimit = int64(c.BodySizeLimit)
	sc.AllowLinkLocal = c.AllowAddress
	for _, t := range c.Targets {
		labels := map[string]string{}
		for k, v := range c.Labels {
			labels[k] = v
		}
		for k, v := range t.Labels {
			labels[k] = v
		}
		sc.Targets = append(sc.Targets, scrape.TargetConfig{URL: t.URL, Service: t.Service, Instance: t.Instance, Namespace: t.Namespace, Pod: t.Pod,
			Node: t.Node, Cluster: t.Cluster, Region: t.Region, Labels: labels, Interval: time.Duration(t.Interval), Timeout: time.Duration(t.Timeout)})
	}
	for i, glob := range c.Files {
		sc.Discovery = append(sc.Discovery, scrape.DiscoveryConfig{Name: fmt.Sprintf("file-%d", i), Files: []string{glob}, Target: scrape.TargetConfig{Labels: c.Labels}})
	}
	for i, u := range c.HTTP {
		sc.Discovery = append(sc.Discovery, scrape.DiscoveryConfig{Name: fmt.Sprintf("http-%d", i), HTTP: u, Target: scrape.TargetConfig{Labels: c.Labels}})
	}
	for i, d := range c.DNS {
		sc.Discovery = append(sc.Discovery, scrape.DiscoveryConfig{Name: fmt.Sprintf("dns-%d", i), DNS: d.Names, DNSType: d.Type, DNSPort: d.Port,
			Target: scrape.TargetConfig{Service: d.Service, Labels: c.Labels}})
	}
	sc.Targets = append(sc.Targets, more...)
	return sc
}
