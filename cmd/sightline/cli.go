package main

import (
	"log/slog"

	"sightline/internal/app/config"
)

//go:generate go test -run TestReferenceIsCurrent -update

// cli is every subcommand; docs/cli.md is generated from it.
type cli struct {
	Up      upCmd      `cmd:"" help:"Run the server and scrape model servers, all in one process."`
	Serve   serveCmd   `cmd:"" help:"Run the server alone: it takes what agents and other Prometheus servers send."`
	Demo    demoCmd    `cmd:"" help:"Run the server with two real engines and real load, without any GPU."`
	Check   checkCmd   `cmd:"" help:"Check a configuration without starting anything."`
	Version versionCmd `cmd:"" help:"Print the version."`
}

// serverFlags are common to the roles that hold a server. A flag that is given
// overrides the configuration file.
type serverFlags struct {
	Config         string `help:"Configuration file (sightline.yaml)." placeholder:"FILE" type:"path"`
	Listen         string `help:"Address of the HTTP listener (default 127.0.0.1:7070)." placeholder:"HOST:PORT"`
	Data           string `help:"Directory for everything durable (default sightline-data; demo: a new temporary one)." placeholder:"DIR" type:"path"`
	InsecureListen bool   `help:"Allow a listener that others can reach without TLS and token."`
	LogLevel       string `help:"Log level: debug, info, warn or error." placeholder:"LEVEL"`
	LogFormat      string `help:"Log format: text or json." placeholder:"FORMAT"`
}

// config loads the file, lays the flags over it and validates the whole.
func (f serverFlags) config() (config.Config, error) {
	c := config.Default()
	if f.Config != "" {
		var err error
		if c, err = config.Load(f.Config); err != nil {
			return c, err
		}
	}
	override(&c.Listen, f.Listen)
	override(&c.Data, f.Data)
	override(&c.Log.Level, f.LogLevel)
	override(&c.Log.Format, f.LogFormat)
	c.InsecureListen = c.InsecureListen || f.InsecureListen
	return c, nil
}

func override(to *string, with string) {
	if with != "" {
		*to = with
	}
}

func (s *streams) logger(c config.LogConfig) *slog.Logger { return config.NewLogger(s.err, c) }
