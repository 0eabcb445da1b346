package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/suiro-go/suiro/bench/load"
)

// loadMain is the child process "conns load". It writes a load.Result, or for idle a line when all connections
// are there, and holds them until its standard input ends.
func loadMain(args []string) error {
	var cfg load.Config
	f := flag.NewFlagSet("conns load", flag.ExitOnError)
	kind := f.String("kind", "echo", "")
	addr := f.String("addr", "", "")
	f.IntVar(&cfg.Conns, "c", 1, "")
	f.IntVar(&cfg.Size, "size", 64, "")
	f.DurationVar(&cfg.Warmup, "w", 0, "")
	f.DurationVar(&cfg.For, "d", time.Second, "")
	f.IntVar(&cfg.PID, "pid", 0, "")
	f.Parse(args)
	var err error
	if cfg.Addr, err = netip.ParseAddrPort(*addr); err != nil {
		return err
	}
	what := kinds[*kind]
	if what.http {
		cfg.Request, cfg.Reply = httpRequest, httpReply
	}
	cfg.TLS = what.tls
	if what.idle {
		return load.Idle(cfg, func() {
			fmt.Println("ready")
			_, _ = io.Copy(io.Discard, os.Stdin)
		})
	}
	if what.run == nil {
		return fmt.Errorf("there is no load %q", *kind)
	}
	r, err := what.run(cfg)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// loadCommand is the load on its CPU, against a server.
func loadCommand(ctx context.Context, cfg config, kind, addr string, conns, size int, more ...string) (*exec.Cmd, error) {
	return self(ctx, cfg.LoadCPU, append([]string{"load", "-kind", kind, "-addr", addr,
		"-c", strconv.Itoa(conns), "-size", strconv.Itoa(size)}, more...)...)
}

// runLoad measures CPU time.
func runLoad(ctx context.Context, cfg config, c *child, w workload) (o outcome, err error) {
	cmd, err := loadCommand(ctx, cfg, w.Kind, c.addr, w.Conns, w.Size, "-pid", strconv.Itoa(c.cmd.Process.Pid),
		"-w", fmt.Sprint(time.Duration(cfg.Warmup*float64(time.Second))), "-d", fmt.Sprint(time.Duration(cfg.Seconds*float64(time.Second))))
	if err != nil {
		return o, err
	}
	out, err := cmd.Output()
	if err != nil {
		return o, said(err)
	}
	return o, json.Unmarshal(out, &o.Result)
}

// said adds to the error of a command what that wrote.
func said(err error) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
		return errors.New(strings.TrimSpace(string(exit.Stderr)))
	}
	return err
}

// kinds are the kinds of load.
var kinds = map[string]struct {
	run  func(load.Config) (load.Result, error)
	idle bool // it is memory that is measured
	http bool // requests and answers of HTTP
	tls  bool // over TLS
}{
	"idle":       {idle: true},
	"http":       {idle: true, http: true},
	"https-idle": {idle: true, http: true, tls: true},
	"https":      {run: load.Echo, http: true, tls: true},
	"echo":       {run: load.Echo},
	"chunks":     {run: load.Chunks},
	"churn":      {run: load.Churn},
}

// httpSettles is more than the time for which connections of HTTP stay as they are when they fall silent.
const httpSettles = time.Second

// warmConns is how many connections come and go before memory is looked at: code and pools that are touched once
// cost nothing per connection.
const warmConns = 256

// runIdle measures memory.
func runIdle(ctx context.Context, cfg config, c *child, w workload) (o outcome, err error) {
	settle := func() {
		if kinds[w.Kind].http {
			time.Sleep(httpSettles)
		}
	}
	if err := idle(ctx, cfg, c, w, warmConns, nil); err != nil {
		return o, err
	}
	settle()
	before, err := c.resident()
	if err != nil {
		return o, err
	}
	o.Count = int64(cfg.Idle)
	return o, idle(ctx, cfg, c, w, cfg.Idle, func() error {
		settle()
		after, err := c.resident()
		o.Resident = after - before
		return err
	})
}

// idle has that many connections there while look looks.
func idle(ctx context.Context, cfg config, c *child, w workload, conns int, look func() error) error {
	cmd, err := loadCommand(ctx, cfg, w.Kind, c.addr, conns, w.Size)
	if err != nil {
		return err
	}
	var log strings.Builder
	cmd.Stderr = &log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	line := make([]byte, len("ready\n"))
	_, err = io.ReadFull(out, line)
	if err == nil && look != nil {
		err = look()
	}
	_ = stdin.Close()
	if ended := cmd.Wait(); ended != nil {
		return fmt.Errorf("%w (%s)", ended, strings.TrimSpace(log.String()))
	}
	return err
}
