package console

import (
	"io"
	"net"
	"time"

	"github.com/suiro-go/suiro/internal/panics"
	"github.com/suiro-go/suiro/server"
)

// A Server is what a Handler shows. A *server.Server is one. A program that has a group of its own
// implements it. Any goroutine calls the methods.
type Server interface {
	Group() *server.Group // nil before it serves
	Addrs() []net.Addr    // where it listens
	Stopping() bool       // it shuts down, or has
	Dump(w io.Writer) error
}

var _ Server = (*server.Server)(nil)

// answers are those of the methods of a Server.
type answers struct {
	group    *server.Group
	addrs    []net.Addr
	stopping bool
	panicked any // what a method panicked with; nil: nothing
}

// mostWait is how long the page waits for a server. Its methods take the server's lock.
const mostWait = 100 * time.Millisecond

// ask returns the server's answers. If they do not arrive in time, it returns the last ones and
// false. Then it does not ask again until they have arrived, so at most one goroutine waits. The
// caller holds c.mu.
func (c *console) ask() (a answers, current bool) {
	late := c.asked != nil // an earlier call has asked: the answer may be old
	if !late {
		asked := make(chan answers, 1)
		go func() { asked <- answersOf(c.server) }()
		c.asked = asked
	}
	wait := time.NewTimer(mostWait)
	defer wait.Stop()
	select {
	case a = <-c.asked:
		c.asked = nil
		switch {
		case a.panicked != nil:
			panic(a.panicked) // on the goroutine of the request, as the server's own handlers do
		case late:
			return c.ask()
		}
		c.known = a
		return a, true
	case <-wait.C:
		return c.known, false
	}
}

func answersOf(s Server) (a answers) {
	p := panics.Try(func() { a = answers{group: s.Group(), addrs: s.Addrs(), stopping: s.Stopping()} })
	if p != nil {
		a.panicked = p.Value
	}
	return a
}

// group returns the server's group, or nil.
func (c *console) group() *server.Group {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, _ := c.ask()
	return a.group
}

// hasEnded reports whether the server was stopping when the last snapshot was made.
func (c *console) hasEnded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known.stopping
}
