// Command sightline is the server, the agent and the demo in one binary.
package main

import (
	_ "github.com/alecthomas/kong"
	_ "github.com/prometheus/client_golang/prometheus/promhttp"
	_ "github.com/prometheus/exporter-toolkit/web"
	_ "github.com/prometheus/prometheus/discovery/dns"
	_ "github.com/prometheus/prometheus/discovery/file"
	_ "github.com/prometheus/prometheus/discovery/http"
	_ "github.com/prometheus/prometheus/promql"
	_ "github.com/prometheus/prometheus/rules"
	_ "github.com/prometheus/prometheus/scrape"
	_ "github.com/prometheus/prometheus/storage/remote"
	_ "github.com/prometheus/prometheus/tsdb"
	_ "github.com/prometheus/prometheus/web/api/v1"
	_ "go.uber.org/goleak"
	_ "go.yaml.in/yaml/v3"
	_ "google.golang.org/grpc"
)

func main() {}
