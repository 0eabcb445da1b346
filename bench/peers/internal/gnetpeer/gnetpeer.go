// Package gnetpeer is the raw handler on panjf2000/gnet, in the two ways that people write it.
package gnetpeer

import (
	"log"
	"net"
	"os"

	"github.com/panjf2000/gnet/v2"

	"github.com/suiro-go/suiro/bench/peers/internal/peer"
	"github.com/suiro-go/suiro/bench/peers/internal/plain"
)

type handler struct {
	gnet.BuiltinEventEngine
	step  plain.Step
	naive bool // one Write per answer, as the API invites
}

// Run serves until a signal. Coalesced, all answers to one read leave in a single Write.
func Run(naive bool) {
	o := peer.Parse()
	go func() {
		log.Fatal(gnet.Run(&handler{step: o.Step, naive: naive}, "tcp://"+o.Addr,
			gnet.WithMulticore(peer.Loops() > 1),
			gnet.WithNumEventLoop(peer.Loops())))
	}()
	peer.Wait()
}

func (h *handler) OnBoot(e gnet.Engine) gnet.Action {
	addr, err := boundAddr(e)
	if err != nil {
		log.Fatal(err)
	}
	peer.Ready(addr)
	return gnet.None
}

// boundAddr asks the kernel: gnet itself only knows the port 0 it was told.
func boundAddr(e gnet.Engine) (string, error) {
	fd, err := e.Dup()
	if err != nil {
		return "", err
	}
	f := os.NewFile(uintptr(fd), "listener")
	defer f.Close()
	ln, err := net.FileListener(f)
	if err != nil {
		return "", err
	}
	defer ln.Close()
	return ln.Addr().String(), nil
}

// consume drops n answered bytes. Discard(0) would drop everything, an incomplete request included.
func consume(c gnet.Conn, n int) {
	if n > 0 {
		c.Discard(n)
	}
}

// scratch is a connection's output buffer, reused from read to read.
type scratch struct{ out []byte }

func (h *handler) OnOpen(c gnet.Conn) ([]byte, gnet.Action) {
	c.SetContext(new(scratch))
	return nil, gnet.None
}

func (h *handler) OnTraffic(c gnet.Conn) gnet.Action {
	in, err := c.Peek(-1)
	if err != nil {
		return gnet.Close
	}
	if h.naive {
		return h.writeEach(c, in)
	}
	s := c.Context().(*scratch)
	out, used, ok := plain.All(h.step, s.out[:0], in)
	s.out = out
	if !ok {
		return gnet.Close
	}
	if len(out) > 0 {
		if _, err := c.Write(out); err != nil { // gnet copies what the socket does not take
			return gnet.Close
		}
	}
	consume(c, used)
	return gnet.None
}

func (h *handler) writeEach(c gnet.Conn, in []byte) gnet.Action {
	used := 0
	for used < len(in) {
		answer, n, ok := h.step(in[used:])
		if !ok {
			return gnet.Close
		}
		if n == 0 {
			break
		}
		if _, err := c.Write(answer); err != nil {
			return gnet.Close
		}
		used += n
	}
	consume(c, used)
	return gnet.None
}
