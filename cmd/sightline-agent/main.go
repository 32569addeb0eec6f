// Command sightline-agent is the agent without the server: it scrapes what runs
// beside it and sends it to a Sightline server.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"sightline/internal/app/agent"
	"sightline/internal/app/config"
	"sightline/internal/app/lifecycle"
)

// version is set by the linker.
var version = "0.1.0-dev"

// cli is the agent's flags.
type cli struct {
	Server    string           `help:"Address of the Sightline server." placeholder:"http://HOST:7070" required:""`
	TokenFile string           `help:"File with a token that has the scope write." placeholder:"FILE" type:"path"`
	Target    []string         `help:"Exposition to scrape, repeatable." placeholder:"[SERVICE=]URL"`
	Config    string           `help:"Configuration file; its section scrape is used." placeholder:"FILE" type:"path"`
	Interval  config.Duration  `help:"How often targets are scraped (default 5s)." placeholder:"DURATION"`
	Listen    string           `help:"Loopback address of the agent's own metrics (default 127.0.0.1:7071)." default:"127.0.0.1:7071" placeholder:"HOST:PORT"`
	LogLevel  string           `help:"Log level: debug, info, warn or error." default:"info"`
	LogFormat string           `help:"Log format: text or json." default:"text"`
	Version   kong.VersionFlag `help:"Print the version."`
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run returns the exit status: 0 done, 1 failed, 2 used wrongly.
func run(args []string, stdout, stderr io.Writer) int {
	var c cli
	status := -1
	p, err := newParser(&c, stdout, stderr, func(s int) { status = s })
	if err == nil {
		_, err = p.Parse(args)
	}
	if status >= 0 {
		return status
	}
	if err != nil {
		fmt.Fprintf(stderr, "sightline-agent: %v\nrun 'sightline-agent --help' to see what there is\n", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := start(ctx, c, stdout, stderr); err != nil {
		lifecycle.Report(stderr, "sightline-agent", err)
		return 1
	}
	return 0
}

func newParser(c *cli, stdout, stderr io.Writer, exit func(int)) (*kong.Kong, error) {
	return kong.New(c, kong.Name("sightline-agent"), kong.Description("Scrapes what runs beside it and sends it to a Sightline server."),
		kong.Writers(stdout, stderr), kong.Exit(exit), kong.Vars{"version": "sightline-agent " + version})
}

func start(ctx context.Context, c cli, stdout, stderr io.Writer) error {
	conf := config.Default()
	if c.Config != "" {
		var err error
		if conf, err = config.Load(c.Config); err != nil {
			return err
		}
	}
	conf.Log = config.LogConfig{Level: c.LogLevel, Format: c.LogFormat}
	if c.Interval > 0 {
		conf.Scrape.Interval = c.Interval
		conf.Scrape.Timeout = min(conf.Scrape.Timeout, c.Interval)
	}
	for _, t := range c.Target {
		tc, err := config.ParseTarget(t)
		if err != nil {
			return err
		}
		conf.Scrape.Targets = append(conf.Scrape.Targets, tc)
	}
	if err := conf.Validate(); err != nil {
		return err
	}
	return agent.Run(ctx, agent.Settings{Server: c.Server, TokenFile: c.TokenFile, Listen: c.Listen, Scrape: conf.Scrape,
		Log: config.NewLogger(stderr, conf.Log), Out: stdout, Version: version})
}
