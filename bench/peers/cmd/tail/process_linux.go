package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	startTimeout = 10 * time.Second
	stopTimeout  = 5 * time.Second
	ticks        = 100 // per second of the times in /proc: USER_HZ, 100 on every Linux that Go runs on
)

// self is a command that runs this program again, on those CPUs; all for "".
func self(ctx context.Context, cpus string, args ...string) (*exec.Cmd, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, exe, args...)
	if cpus != "" {
		cmd = exec.CommandContext(ctx, "taskset", append([]string{"-c", cpus, exe}, args...)...)
	}
	cmd.WaitDelay = stopTimeout
	return cmd, nil
}

// A child is a contender's process.
type child struct {
	cmd   *exec.Cmd
	addr  string
	stdin io.Closer
	log   bytes.Buffer // to be read after stop
}

// start runs a contender and waits until it says where it listens.
func start(ctx context.Context, cfg config, name string) (*child, error) {
	cmd, err := self(ctx, cfg.CPUs, "serve", name, strconv.FormatUint(cfg.Burn, 10))
	if err != nil {
		return nil, err
	}
	c := &child{cmd: cmd}
	cmd.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(serverCPUs))
	cmd.Stderr = &c.log
	if c.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	late := time.AfterFunc(startTimeout, func() { _ = cmd.Process.Kill() })
	for lines := bufio.NewScanner(out); c.addr == "" && lines.Scan(); {
		if addr, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			c.addr = addr
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // until the process ends
	if !late.Stop() || c.addr == "" {
		c.stop()
		return nil, fmt.Errorf("it did not say where it listens%s", c.lastWords())
	}
	return c, c.checkBackend(name)
}

// stop ends the process: it exits when its standard input ends.
func (c *child) stop() {
	_ = c.stdin.Close()
	late := time.AfterFunc(stopTimeout, func() { _ = c.cmd.Process.Kill() })
	defer late.Stop()
	_ = c.cmd.Wait()
}

// lastWords is what the process printed, as an appendix to an error.
func (c *child) lastWords() string {
	if c.log.Len() == 0 {
		return ""
	}
	return fmt.Sprintf(" (it said: %q)", c.log.String())
}

// checkBackend refuses a Suiro that fell back: one of io_uring has a ring, one of epoll has none.
func (c *child) checkBackend(name string) error {
	backend, ok := strings.CutPrefix(name, "suiro/")
	if !ok {
		return nil
	}
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", c.cmd.Process.Pid))
	if err != nil {
		return err
	}
	ring := false
	for _, l := range links {
		to, err := os.Readlink(l)
		ring = ring || err == nil && to == "anon_inode:[io_uring]"
	}
	if ring != (backend == "io_uring") {
		c.stop()
		return fmt.Errorf("it fell back to another backend%s", c.lastWords())
	}
	return nil
}

// runLoad runs the client, and returns the CPU seconds it used, too.
func runLoad(ctx context.Context, cfg config, addr string, slow int) (r result, cpu float64, err error) {
	cmd, err := self(ctx, cfg.ClientCPU, "load", "-addr", addr, "-slow", strconv.Itoa(slow),
		"-c", strconv.Itoa(cfg.Connections), "-rate", strconv.Itoa(cfg.Rate), "-priority", cfg.Priority,
		"-d", strconv.FormatFloat(cfg.Seconds, 'g', -1, 64), "-w", strconv.FormatFloat(cfg.Warmup, 'g', -1, 64))
	if err != nil {
		return r, 0, err
	}
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
		err = fmt.Errorf("client: %s", bytes.TrimSpace(exit.Stderr))
	}
	if err != nil {
		return r, 0, err
	}
	cpu = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	return r, cpu, json.Unmarshal(out, &r)
}

// processCPU is the CPU seconds that a process has used, from proc_pid_stat(5).
func processCPU(pid int) (float64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // the command's name may hold anything
	if len(f) < 13 || f[0] == "Z" {
		return 0, errors.New("the server has exited")
	}
	user, err1 := strconv.ParseUint(f[11], 10, 64)
	sys, err2 := strconv.ParseUint(f[12], 10, 64)
	return float64(user+sys) / ticks, errors.Join(err1, err2)
}

// busyCPU is the seconds that those CPUs were neither idle nor waiting, from proc_stat(5).
func busyCPU(cpus []string) (float64, error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	var busy uint64
	for line := range strings.Lines(string(stat)) {
		f := strings.Fields(line)
		for _, cpu := range cpus {
			if f[0] != "cpu"+cpu {
				continue
			}
			for i, field := range f[1:] {
				if i == 3 || i == 4 || i > 7 { // idle, iowait; guest times are part of user
					continue
				}
				n, err := strconv.ParseUint(field, 10, 64)
				if err != nil {
					return 0, err
				}
				busy += n
			}
		}
	}
	return float64(busy) / ticks, nil
}
