package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// injections are errors by which strace replaces the kernel's answers to a server on epoll. EAGAIN
// from accept4 and recvfrom is not among them: no edge follows that of strace, and one always
// follows a kernel's. The tests of packages reactor and conn have that.
var injections = []struct{ name, network, call, fault string }{
	{"no descriptors", "tcp", "accept4", "error=EMFILE:when=3+5"},
	{"no descriptors in the system", "tcp", "accept4", "error=ENFILE:when=1+4"},
	{"no buffers for a connection", "tcp", "accept4", "error=ENOBUFS:when=2+6"},
	{"aborted in the backlog", "tcp", "accept4", "error=ECONNABORTED:when=1+2"},
	{"accept is interrupted", "tcp", "accept4", "error=EINTR:when=1+2"},
	{"receiving is interrupted", "tcp", "recvfrom", "error=EINTR:when=1+2"},
	{"send is interrupted", "tcp", "sendto", "error=EINTR:when=1+2"},
	{"no room for a send", "tcp", "sendto", "error=EAGAIN:when=3+5"},
	{"no buffers for a send", "tcp", "sendto", "error=ENOBUFS:when=3+5"},
	{"the wait is interrupted", "tcp", "epoll_pwait2", "error=EINTR:when=1+2"},
	{"no epoll_pwait2", "tcp", "epoll_pwait2", "error=ENOSYS"},
	{"waking is interrupted", "tcp", "write", "error=EINTR:when=2+3"},
	{"no timers", "tcp", "timerfd_create", "error=EMFILE"},
	{"receiving datagrams is interrupted", "udp", "recvmmsg", "error=EINTR:when=1+2"},
	{"sending datagrams is interrupted", "udp", "sendmmsg", "error=EINTR:when=1+2"},
	{"no room for datagrams", "udp", "sendmmsg", "error=EAGAIN:when=3+5"},
}

// The kernel's answers are changed from outside of the process: what the program was
// built of is what users have.
func TestEchoUnderStrace(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed")
	}
	if out, err := exec.Command(strace, "-f", "--seccomp-bpf", "-o", os.DevNull, "-e", "inject=getppid:error=EPERM", "true").CombinedOutput(); err != nil {
		t.Skipf("strace cannot trace here: %v: %s", err, out)
	}
	for _, inj := range injections {
		t.Run(inj.name, func(t *testing.T) {
			conntest.Guard(t)
			p := startTraced(t, strace, inj.call, inj.fault, inj.network)
			open := p.Descriptors()
			if inj.network == "udp" {
				conntest.Each(t, 4, func(i int) error { return p.datagrams(uint64(i)) })
			} else {
				conntest.Each(t, 20, func(i int) error { return p.roundTrips(uint64(i)) })
			}
			conntest.Eventually(t, func() bool { return p.Descriptors() <= open+lazily }, func() string {
				return fmt.Sprintf("the server has %d descriptors open, had %d", p.Descriptors(), open)
			})
			p.stop()
			conntest.Eventually(t, func() bool { return p.injected() > 0 }, "strace has injected nothing")
			t.Logf("%d times", p.injected())
		})
	}
}

// lazily is what two workers and four spares open when they are first needed: an epoll,
// an eventfd and a timer each. It is less than there are connections.
const lazily = 18

// A traced is a server whose system calls strace tampers with.
type traced struct {
	*conntest.Program
	t   *testing.T
	log string // strace's
}

func startTraced(t *testing.T, strace, call, fault, network string) *traced {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	p := &traced{t: t, log: log, Program: conntest.Run(t, strace, "-D", // so that the server itself is our child
		"-f", "--seccomp-bpf", "-qq", "-o", log, "-e", "trace="+call, "-e", "signal=none", "-e", "inject="+call+":"+fault,
		program, "-network", network, "-addr", "127.0.0.1:0", "-backend", "epoll", "-workers", "2")}
	p.Addr = p.Line("listening on ")
	return p
}

func (p *traced) injected() int {
	log, err := os.ReadFile(p.log)
	require.NoError(p.t, err)
	return strings.Count(string(log), "(INJECTED)")
}

// stop ends the server in order. Its log has at most warnings.
func (p *traced) stop() {
	p.t.Helper()
	p.Signal(syscall.SIGTERM)
	p.End()
	for line := range strings.Lines(conntest.Complaints(p.Stderr.String())) {
		require.Contains(p.t, line, "accept failed, trying again")
	}
}

func (p *traced) dial(network string) (net.Conn, error) {
	c, err := net.Dial(network, p.Addr)
	if err == nil {
		err = c.SetDeadline(time.Now().Add(conntest.Patience))
	}
	return c, err
}

// roundTrips sends bytes in random pieces, and wants all of them back, and then the
// FIN.
func (p *traced) roundTrips(seed uint64) error {
	c, err := p.dial("tcp")
	if err != nil {
		return err
	}
	defer c.Close()
	r := rand.New(rand.NewPCG(seed, 61))
	text := make([]byte, 1+r.IntN(100<<10))
	for i := range text {
		text[i] = byte(r.Uint32())
	}
	go func() {
		for rest := text; len(rest) > 0; {
			n := min(len(rest), 1+r.IntN(16<<10))
			if _, err := c.Write(rest[:n]); err != nil {
				return // the reader hears of it as well
			}
			rest = rest[n:]
		}
		_ = c.(*net.TCPConn).CloseWrite()
	}()
	back, err := io.ReadAll(c)
	if err == nil && !bytes.Equal(back, text) {
		err = fmt.Errorf("%d bytes came back for %d", len(back), len(text))
	}
	return err
}

// datagrams sends them one after the other.
func (p *traced) datagrams(seed uint64) error {
	c, err := p.dial("udp")
	if err != nil {
		return err
	}
	defer c.Close()
	back := make([]byte, 2048)
	for i := range 50 {
		text := strings.Repeat(string(rune('a'+seed)), 20*i)
		if _, err := io.WriteString(c, text); err != nil {
			return err
		}
		n, err := c.Read(back)
		if err != nil {
			return err
		}
		if string(back[:n]) != text {
			return errors.New("another datagram came back")
		}
	}
	return nil
}
