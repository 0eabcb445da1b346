package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	startTimeout = 10 * time.Second
	stopTimeout  = 5 * time.Second
	keptLines    = 3 // of a server's output, for failures
)

// server is a contender's running process.
type server struct {
	cmd  *exec.Cmd
	addr string

	found  chan string   // the address, once
	exited chan struct{} // closed when the process has been reaped

	mu   sync.Mutex // guards tail
	tail []string   // last lines of its output
}

// start runs the contender pinned to cpu and waits until it says where it listens.
func (c contender) start(bin string, cpu int) (*server, error) {
	args := append([]string{"-c", strconv.Itoa(cpu), filepath.Join(bin, c.binary)}, c.args...)
	s := &server{
		cmd:    exec.Command("taskset", args...), // taskset execs, so its PID becomes the server's
		found:  make(chan string, 1),
		exited: make(chan struct{}),
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.cmd.Stdout, s.cmd.Stderr = w, w
	s.cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt at the terminal is for compare
	err = s.cmd.Start()
	w.Close()
	if err != nil {
		r.Close()
		return nil, err
	}
	go s.listen(r)
	go func() {
		s.cmd.Wait()
		close(s.exited)
	}()
	select {
	case s.addr = <-s.found:
		return s, nil
	case <-s.exited:
		err = errors.New("it exited at once")
	case <-time.After(startTimeout):
		err = errors.New("it did not say where it listens")
	}
	s.stop()
	return nil, fmt.Errorf("%w%s", err, s.lastWords())
}

var listening = regexp.MustCompile(`(?:127\.0\.0\.1|localhost|\[::1\]|0\.0\.0\.0|\[::\]):([1-9][0-9]*)\b`)

// findPort is the port in a line that names an address, or "".
func findPort(line string) string {
	if m := listening.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	return ""
}

// listen reads what the server prints: first the address, later only reasons for failures.
func (s *server) listen(r *os.File) {
	defer r.Close()
	told := false
	for lines := bufio.NewScanner(r); lines.Scan(); {
		line := lines.Text()
		s.mu.Lock()
		if s.tail = append(s.tail, line); len(s.tail) > keptLines {
			s.tail = s.tail[1:]
		}
		s.mu.Unlock()
		if port := findPort(line); port != "" && !told {
			told = true
			s.found <- "127.0.0.1:" + port
		}
	}
}

func (s *server) pid() int { return s.cmd.Process.Pid }

// stop ends this one process, politely first. It returns when the process is gone.
func (s *server) stop() {
	s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.exited:
		return
	case <-time.After(stopTimeout):
	}
	s.cmd.Process.Kill()
	<-s.exited
}

// lastWords is what the server printed last, as an appendix to an error.
func (s *server) lastWords() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.tail) == 0 {
		return ""
	}
	return fmt.Sprintf(" (it said: %q)", s.tail)
}
