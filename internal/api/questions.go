package api

import (
	"net/http"
	"net/url"

	"sightline/internal/query"
)

func (a *API) serveNow(w http.ResponseWriter, r *http.Request) {
	question(a, w, r, parseNow, a.deps.Canonical.Now, func(n query.NowAnswer) []string { return n.Warnings })
}

func (a *API) serveSeries(w http.ResponseWriter, r *http.Request) {
	parse := func(v url.Values) (query.SeriesRequest, error) { return parseSeries(v, a.now()) }
	question(a, w, r, parse, a.deps.Canonical.Series, func(s query.SeriesAnswer) []string { return s.Warnings })
}

func (a *API) serveHardware(w http.ResponseWriter, r *http.Request) {
	question(a, w, r, parseHardware, a.deps.Inventory.Hardware, func(h query.HardwareAnswer) []string { return h.Warnings })
}

func (a *API) serveSignals(w http.ResponseWriter, r *http.Request) {
	question(a, w, r, parseSignals, a.deps.Inventory.Signals, func(s query.SignalsAnswer) []string { return s.Warnings })
}
