package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/suiro-go/suiro/bench/load"
)

const (
	startTimeout = 10 * time.Second
	stopTimeout  = 5 * time.Second
	keptLines    = 3 // of a server's output, for failures
)

// pinned is a command on those CPUs. It is killed if this process ends without stopping it.
func pinned(cpus, exe string, args ...string) *exec.Cmd {
	cmd := exec.Command("taskset", append([]string{"-c", cpus, exe}, args...)...) // which becomes it: the PID is its own
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// A server is a contender's process.
type server struct {
	cmd        *exec.Cmd
	recipe     recipe
	addr       string
	dir        string   // of its own, or ""
	origin     *server  // of a proxy, or nil
	behind     *os.File // or the socket of an origin that the load is to be
	originAddr string   // its address
	stdin      io.WriteCloser
	said       *lines
	exited     chan struct{} // closed when it has been waited for
}

// cpusOf are the CPUs of a workload's servers, with a worker or event loop for each.
func cpusOf(cfg config, w workload) string {
	if w.lingers() && cfg.LoadCPU != cfg.ServerCPU {
		return cfg.ServerCPU + "," + cfg.LoadCPU
	}
	return cfg.ServerCPU
}

// start runs a contender and waits until it listens. A contender that gets its port as an argument
// may find it in use. Then start tries another port.
func start(cfg config, name string, w workload) (s *server, err error) {
	for range 3 {
		if s, err = startOnce(cfg, name, w); !errors.Is(err, errExited) {
			break
		}
	}
	return s, err
}

var errExited = errors.New("it exited at once")

func startOnce(cfg config, name string, w workload) (s *server, err error) {
	r, ok := find(name, w.Kind)
	if !ok {
		return nil, fmt.Errorf("%s does not serve %s", name, w.Kind)
	}
	path, err := r.path(cfg)
	if err != nil {
		return nil, err
	}
	s = &server{recipe: r, said: newLines(), exited: make(chan struct{})}
	if isProxy(w) {
		if err := s.startOrigin(cfg, w); err != nil {
			return nil, err
		}
	}
	if err := s.run(cfg, w, path); err != nil {
		s.release()
		return nil, err
	}
	if err = s.awaitAddr(); err == nil {
		err = s.checkBackend()
	}
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("%w%s", err, s.lastWords())
	}
	return s, nil
}

// startOrigin starts the server behind a proxy, on the load's CPU. If it is to be calm there, only
// a socket that listens: the load is it.
func (s *server) startOrigin(cfg config, w workload) (err error) {
	if !w.calm {
		cfg.ServerCPU = cfg.LoadCPU
		_, w.Kind, _ = strings.Cut(w.Kind, ":")
		s.origin, err = start(cfg, "suiro/epoll", w)
		return err
	}
	ln, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return err
	}
	defer func() { _ = ln.Close() }()
	s.behind, err = ln.File()
	s.originAddr = ln.Addr().String()
	return err
}

// run begins the process.
func (s *server) run(cfg config, w workload, path string) error {
	args, err := s.arguments(cfg, w)
	if err != nil {
		return err
	}
	cpus := cpusOf(cfg, w)
	s.cmd = pinned(cpus, path, args...)
	s.cmd.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(len(strings.Split(cpus, ","))))
	s.cmd.Stdout, s.cmd.Stderr = s.said, s.said
	s.cmd.WaitDelay = stopTimeout
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = s.cmd.Wait()
		close(s.exited)
	}()
	return nil
}

// arguments are the recipe's, with what they stand for.
func (s *server) arguments(cfg config, w workload) (args []string, err error) {
	kind := w.Kind
	if w.Kind == "burn" {
		kind = "burn:" + cfg.burn
	}
	origin := s.originAddr
	if s.origin != nil {
		origin = s.origin.addr
	}
	replace := []string{"KIND", kind, "SIZE", strconv.Itoa(w.Size), "ORIGIN", origin}
	if sourceOf(s.recipe.binary).uses != "" {
		if s.dir, err = os.MkdirTemp("", "suiro-bench-"); err != nil {
			return nil, err
		}
		if s.addr, err = freeAddr(); err != nil {
			return nil, err
		}
		if err := writeConf(s.dir, s.addr, origin); err != nil {
			return nil, err
		}
		replace = append(replace, "CONF", s.dir)
	}
	for _, a := range s.recipe.args {
		args = append(args, strings.NewReplacer(replace...).Replace(a))
	}
	return args, nil
}

// awaitAddr waits until the server says where it listens, or, if that was told it, accepts.
func (s *server) awaitAddr() error {
	late := time.NewTimer(startTimeout)
	defer late.Stop()
	told := s.addr
	for {
		again := time.After(10 * time.Millisecond)
		if told == "" {
			again = nil
		} else if c, err := net.Dial("tcp", told); err == nil {
			return c.Close()
		}
		select {
		case s.addr = <-s.said.addr:
			return nil
		case <-again:
		case <-s.exited:
			return errExited
		case <-late.C:
			return errors.New("it did not say where it listens")
		}
	}
}

func (s *server) pid() int { return s.cmd.Process.Pid }

// stop ends the process, politely first. It returns when that is gone.
func (s *server) stop() {
	_ = s.stdin.Close()
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.exited:
	case <-time.After(stopTimeout):
		_ = s.cmd.Process.Kill()
		<-s.exited
	}
	s.release()
}

// release gives back what the process needed.
func (s *server) release() {
	if s.origin != nil {
		s.origin.stop()
	}
	if s.behind != nil {
		_ = s.behind.Close()
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
}

// resident is the process's memory, after garbage collections, as many as it takes to stay what it
// is.
func (s *server) resident() (int64, error) {
	for last := int64(-1); ; {
		if s.recipe.obeys {
			if _, err := io.WriteString(s.stdin, "collect\n"); err != nil {
				return 0, err
			}
			select {
			case <-s.said.collected:
			case <-s.exited:
				return 0, errors.New("it exited")
			case <-time.After(startTimeout):
				return 0, errors.New("it collects no garbage")
			}
		}
		now, err := load.Resident(s.pid())
		if err != nil || last >= 0 && now >= last-64<<10 {
			return now, err
		}
		last = now
		time.Sleep(200 * time.Millisecond) // what closes or shrinks in the background
	}
}

// checkBackend refuses a Suiro that fell back to another backend.
func (s *server) checkBackend() error {
	if s.recipe.ring == "" {
		return nil
	}
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", s.pid()))
	if err != nil {
		return err
	}
	has := "no"
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil && to == "anon_inode:[io_uring]" {
			has = "yes"
		}
	}
	if has != s.recipe.ring {
		return fmt.Errorf("it fell back to another backend: it has a ring: %s", has)
	}
	return nil
}

// lastWords is what the server printed last, as an appendix to an error.
func (s *server) lastWords() string {
	if tail := s.said.last(); len(tail) > 0 {
		return fmt.Sprintf(" (it said: %q)", tail)
	}
	return ""
}

// runLoad runs the load, which listens on its standard input; look is called when it says that it
// is ready. It inherits files as descriptors from 3 on.
func runLoad(ctx context.Context, cfg config, args []string, look func() error, files ...*os.File) ([]byte, error) {
	cmd := pinned(cfg.LoadCPU, filepath.Join(cfg.Bin, "load"), args...)
	cmd.ExtraFiles = files
	var out, log output
	out.ready = make(chan struct{})
	cmd.Stdout, cmd.Stderr = &out, &log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var looked error
	select {
	case <-out.ready:
		looked = look()
		_ = stdin.Close()
		err = <-ended
	case err = <-ended:
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == exitNothing {
		return nil, fmt.Errorf("%w: %s", errStarved, strings.TrimSpace(log.text()))
	}
	if err != nil {
		return nil, fmt.Errorf("%w (%s)", err, strings.TrimSpace(log.text()))
	}
	return []byte(strings.TrimPrefix(out.text(), readyLine)), looked
}

// The line of command load when it is ready, and its exit status when nothing came back in time.
const (
	readyLine   = "ready\n"
	exitNothing = 3
)

// errStarved says that others had the CPU, which is nobody's fault here.
var errStarved = errors.New("there was no CPU to be had")

// An output is what a process prints. ready is closed when that begins with readyLine.
type output struct {
	mu    sync.Mutex // guards the rest
	b     strings.Builder
	ready chan struct{}
	said  bool
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.b.Write(p)
	if o.ready != nil && !o.said && strings.HasPrefix(o.b.String(), readyLine) {
		o.said = true
		close(o.ready)
	}
	return len(p), nil
}

func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}
