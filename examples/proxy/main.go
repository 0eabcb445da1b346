// Proxy passes on connections, datagrams and HTTP requests:
//
//	proxy -listen tcp://127.0.0.1:9100 -upstream tcp://127.0.0.1:9000,tcp://127.0.0.1:9001
//	proxy -listen http://127.0.0.1:8080 -upstream tcp://127.0.0.1:9000 -admin 127.0.0.1:9090
//	proxy -listen udp://127.0.0.1:5300 -upstream udp://127.0.0.1:53
//	proxy -config proxy.toml
//
// It prints "listening on" and the address, a line for each listener. SIGHUP makes it read the file
// again: later connections, requests and datagrams follow it. SIGINT and SIGTERM make it stop
// listening, and end when all connections have ended. A second signal ends it at once. README.md
// says what a file may say.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/suiro-go/suiro/examples/proxy/internal/config"
	"github.com/suiro-go/suiro/examples/proxy/internal/proxy"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "proxy:", err)
		os.Exit(1)
	}
}

func run() error {
	f, err := parse(os.Args[1:])
	if err != nil {
		return err
	}
	c, err := f.read()
	if err != nil {
		return err
	}
	// Not server.Run: the proxy is no server.Server, and a reload may close or add listeners.
	ctx, hurry := untilSignals()
	reloads := make(chan os.Signal, 1) // one that waits will read the newest file
	signal.Notify(reloads, syscall.SIGHUP)
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: &f.level}))
	p, err := begin(ctx, c, log)
	if p == nil {
		return err
	}
	for _, a := range p.Addresses() {
		fmt.Printf("listening on %v\n", a)
	}
	if a := p.Admin(); a != nil {
		fmt.Printf("admin on http://%v/\n", a)
	}
	go func() {
		for range reloads {
			f.reload(p, log)
		}
	}()
	<-ctx.Done()
	return p.Shutdown(hurry)
}

// untilSignals returns a context that ends with the first signal to end, and one that ends with the
// second. One channel has both, so that none is lost between the two.
func untilSignals() (first, second context.Context) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	first, endFirst := context.WithCancel(context.Background())
	second, endSecond := context.WithCancel(context.Background())
	go func() {
		<-signals
		endFirst()
		<-signals
		endSecond()
	}()
	return first, second
}

// begin starts a proxy. It returns nil if that failed, or if ctx has ended first.
func begin(ctx context.Context, c *config.Config, log *slog.Logger) (*proxy.Proxy, error) {
	type result struct {
		p   *proxy.Proxy
		err error
	}
	started := make(chan result, 1)
	go func() {
		p, err := proxy.New(c, log)
		started <- result{p, err}
	}()
	select {
	case r := <-started:
		return r.p, r.err
	case <-ctx.Done():
		return nil, nil
	}
}

// reload gives the proxy the configuration that the file has now.
func (f *flags) reload(p *proxy.Proxy, log *slog.Logger) {
	c, err := f.read()
	if err == nil {
		err = p.Reload(c)
	}
	switch {
	case err == nil:
		log.Info("reloaded", "listeners", fmt.Sprint(p.Addresses()))
	case !errors.Is(err, proxy.ErrEnded):
		log.Error("the configuration stays as it was", "error", err)
	}
}

// flags are the command line.
type flags struct {
	file             string
	listen, upstream string
	config           config.Config // settings for the whole program, also beside a file
	route            config.Route
	level            slog.LevelVar
	drain, idle      time.Duration
	connect          time.Duration
	tls              config.Certificate
	balance          string
}

func parse(args []string) (*flags, error) {
	f := new(flags)
	set := flag.NewFlagSet("proxy", flag.ExitOnError)
	set.StringVar(&f.file, "config", "", "a file in TOML, instead of -listen and the flags below")
	set.StringVar(&f.listen, "listen", "", "where to listen: tcp://, unix://, udp:// or http://, several with commas between them")
	set.StringVar(&f.upstream, "upstream", "", "where to connect to: tcp://, unix://, udp:// or tls://, several with commas between them")
	set.StringVar(&f.balance, "balance", "", "round_robin, least_connections or source_hash; empty: round_robin")
	set.DurationVar(&f.idle, "idle", 0, "how long a connection lives without a byte; 0: 10 minutes, of udp 1")
	set.DurationVar(&f.connect, "connect", 0, "how long establishing a connection may take; 0: 5 s")
	set.IntVar(&f.route.MaxConnections, "max", 0, "connections at a time; 0: no bound")
	set.StringVar(&f.tls.Certificate, "cert", "", "a PEM file: terminate TLS with it, and -key")
	set.StringVar(&f.tls.Key, "key", "", "its key")
	set.DurationVar(&f.drain, "drain", 0, "how long connections may go on after SIGTERM; 0: 30 s")
	set.StringVar(&f.config.Admin, "admin", "", "host:port of the console and the metrics; empty: none")
	set.StringVar(&f.config.Backend, "backend", "", "io_uring or epoll; empty: the better one that starts")
	set.IntVar(&f.config.Workers, "workers", 0, "number of workers; 0: as many as processors")
	set.DurationVar((*time.Duration)(&f.config.BusyPoll), "busy-poll", 0, "how long a worker polls before it waits, up to 1ms: lower latency, more CPU time; 0: not at all")
	set.DurationVar((*time.Duration)(&f.config.Coalesce), "coalesce", 0, "delays wake-ups under load by this time, up to 1ms: less CPU time, higher latency; chooses epoll; 0: not at all")
	set.BoolVar(&f.config.AccessLog, "access-log", false, "log each connection, session and request to the standard error")
	f.level.Set(slog.LevelInfo)
	set.TextVar(&f.level, "log", &f.level, "the lowest level that is logged: debug, info, warn or error")
	_ = set.Parse(args) // it exits
	switch {
	case set.NArg() > 0:
		return nil, fmt.Errorf("unexpected %q", set.Arg(0))
	case (f.file == "") == (f.listen == ""):
		return nil, fmt.Errorf("use either -config, or -listen and -upstream")
	case f.tls.Key != "" && f.tls.Certificate == "":
		return nil, fmt.Errorf("-key needs -cert")
	}
	var err error
	set.Visit(func(given *flag.Flag) {
		switch given.Name {
		case "upstream", "balance", "idle", "connect", "max", "cert", "key":
			if f.file != "" {
				err = fmt.Errorf("-%s has no effect beside -config: set it in the file", given.Name)
			}
		}
	})
	return f, err
}

// read is the configuration of the flags, or as the file has it now.
func (f *flags) read() (*config.Config, error) {
	if f.file != "" {
		return config.Read(f.file, f.override)
	}
	c, r := f.config, f.route
	c.Drain, r.IdleTimeout, r.ConnectTimeout = config.Duration(f.drain), config.Duration(f.idle), config.Duration(f.connect)
	if f.balance != "" {
		if err := r.Balance.UnmarshalText([]byte(f.balance)); err != nil {
			return nil, err
		}
	}
	if f.tls.Certificate != "" {
		r.TLS = &f.tls
	}
	for a := range strings.SplitSeq(f.listen, ",") {
		var at config.Address
		if err := at.UnmarshalText([]byte(a)); err != nil {
			return nil, err
		}
		r.Listen = append(r.Listen, at)
	}
	for a := range strings.SplitSeq(f.upstream, ",") {
		u := new(config.Upstream)
		if err := u.Address.UnmarshalText([]byte(a)); err != nil {
			return nil, err
		}
		r.Upstreams = append(r.Upstreams, u)
	}
	r.Name = "main"
	c.Routes = []*config.Route{&r}
	return &c, c.Check()
}

// override replaces a file's settings for the whole program by those of given flags.
func (f *flags) override(c *config.Config) {
	if f.config.Admin != "" {
		c.Admin = f.config.Admin
	}
	if f.config.Backend != "" {
		c.Backend = f.config.Backend
	}
	if f.config.Workers != 0 {
		c.Workers = f.config.Workers
	}
	if f.config.BusyPoll != 0 {
		c.BusyPoll = f.config.BusyPoll
	}
	if f.config.Coalesce != 0 {
		c.Coalesce = f.config.Coalesce
	}
	c.AccessLog = c.AccessLog || f.config.AccessLog
	if f.drain != 0 {
		c.Drain = config.Duration(f.drain)
	}
}
