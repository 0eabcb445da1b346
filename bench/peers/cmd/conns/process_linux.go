package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/suiro-go/suiro/bench/load"
)

const (
	startTimeout = 10 * time.Second
	stopTimeout  = 5 * time.Second
)

// self is a command that runs this program again, on that CPU.
func self(ctx context.Context, cpu string, args ...string) (*exec.Cmd, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return command(ctx, cpu, exe, args...), nil
}

func command(ctx context.Context, cpu, exe string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "taskset", append([]string{"-c", cpu, exe}, args...)...)
	cmd.WaitDelay = stopTimeout
	return cmd
}

// split is a contender's server, and the build of this command that has it; "": this one.
func split(name string) (server, build string) {
	server, build, _ = strings.Cut(name, "@")
	return server, build
}

// A child is a contender's process.
type child struct {
	cmd   *exec.Cmd
	addr  string
	stdin io.WriteCloser
	lines *bufio.Scanner // of its output
	log   bytes.Buffer   // to be read after stop
}

// start runs a contender and waits until it says where it listens.
func start(ctx context.Context, cfg config, name string, w workload) (*child, error) {
	name, build := split(name)
	args := []string{"serve", name, w.Kind, fmt.Sprint(w.Size)}
	cmd, err := self(ctx, cfg.ServerCPU, args...)
	if build != "" {
		cmd, err = command(ctx, cfg.ServerCPU, build, args...), nil
	}
	if err != nil {
		return nil, err
	}
	c := &child{cmd: cmd}
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	cmd.Stderr = &c.log
	if c.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.lines = bufio.NewScanner(out)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if c.addr, err = c.await("listening on "); err != nil {
		c.stop()
		return nil, fmt.Errorf("it did not say where it listens: %w%s", err, c.lastWords())
	}
	if err := c.checkBackend(name); err != nil {
		c.stop()
		return nil, fmt.Errorf("%w%s", err, c.lastWords())
	}
	return c, nil
}

// await waits for a line that begins so, and returns its rest.
func (c *child) await(prefix string) (string, error) {
	late := time.AfterFunc(startTimeout, func() { _ = c.cmd.Process.Kill() })
	defer late.Stop()
	for c.lines.Scan() {
		if rest, ok := strings.CutPrefix(c.lines.Text(), prefix); ok {
			return rest, nil
		}
	}
	return "", errors.Join(errors.New("its output has ended"), c.lines.Err())
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

// resident has the process collect its garbage, as often as it takes for its memory to stay what it is, and
// returns that.
func (c *child) resident() (int64, error) {
	for last := int64(-1); ; {
		if _, err := io.WriteString(c.stdin, "collect\n"); err != nil {
			return 0, err
		}
		if _, err := c.await("collected"); err != nil {
			return 0, err
		}
		now, err := load.Resident(c.cmd.Process.Pid)
		if err != nil || last >= 0 && now >= last-64<<10 {
			return now, err
		}
		last = now
		time.Sleep(200 * time.Millisecond) // what closes or shrinks in the background
	}
}

// obey is the server's side of stop and resident.
func obey() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		debug.FreeOSMemory()
		debug.FreeOSMemory() // what the first one's sync.Pools kept, and finalizers
		fmt.Println("collected")
	}
	os.Exit(0)
}

// checkBackend refuses a Suiro that fell back: one of io_uring has a ring, one of epoll has none.
func (c *child) checkBackend(name string) error {
	kind, backend, _ := strings.Cut(name, "/")
	if kind != "suiro" && !strings.HasPrefix(kind, "suiro-") {
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
		return errors.New("it fell back to another backend")
	}
	return nil
}
