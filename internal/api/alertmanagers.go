package api

import "net/url"

// noAlertmanagers is a server that sends no alerts.
type noAlertmanagers struct{}

// Alertmanagers implements the Prometheus API's AlertmanagerRetriever.
func (noAlertmanagers) Alertmanagers() []*url.URL { return nil }

// DroppedAlertmanagers implements the Prometheus API's AlertmanagerRetriever.
func (noAlertmanagers) DroppedAlertmanagers() []*url.URL { return nil }
