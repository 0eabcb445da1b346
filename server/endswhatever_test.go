package server_test

import (
	"context"
	"errors"
	"net"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// A doer is a handler that does one deed in one of its calls.
type doer struct {
	server.Base
	at    string
	deed  func()
	begun chan bool
}

func (h *doer) in(place string) {
	if h.at == place {
		h.deed()
	}
}

func (h *doer) OnOpen(c *server.Conn) error {
	h.begun <- true
	if h.at == "NotifyClose" {
		c.NotifyClose(h.deed)
	}
	h.in("OnOpen")
	return nil
}

func (h *doer) OnData(c *server.Conn) error {
	_, _ = c.Discard(-1)
	switch h.at {
	case "OnData":
		h.deed()
	case "OnDeadline":
		return c.SetReadDeadline(c.Now())
	case "NotifySent":
		c.NotifySent(func(error) { h.deed() })
	case "Do":
		return c.Handle().Do(func(*server.Conn) { h.deed() })
	}
	return nil
}

func (h *doer) OnEOF(c *server.Conn) error        { h.in("OnEOF"); return h.Base.OnEOF(c) }
func (h *doer) OnDeadline(c *server.Conn) error   { h.in("OnDeadline"); return nil }
func (h *doer) OnDrain(c *server.Conn)            { h.in("OnDrain"); h.Base.OnDrain(c) }
func (h *doer) OnClose(c *server.Conn, err error) { h.in("OnClose") }

// A packetDoer is a doer for a packet socket.
type packetDoer struct {
	server.PacketBase
	*doer
}

func (h packetDoer) OnOpen(c *server.PacketConn) error {
	h.begun <- true
	h.in("OnOpen")
	if h.at == "OnTimer" {
		return c.SetTimer(c.Now())
	}
	return nil
}

func (h packetDoer) OnPackets(c *server.PacketConn, _ []server.Packet) error {
	h.in("OnPackets")
	if h.at == "Do" {
		return c.Handle().Do(func(*server.PacketConn) { h.deed() })
	}
	return nil
}

func (h packetDoer) OnTimer(*server.PacketConn) error        { h.in("OnTimer"); return nil }
func (h packetDoer) OnDrain(c *server.PacketConn)            { h.in("OnDrain"); _ = c.Close() }
func (h packetDoer) OnClose(*server.PacketConn, error)       { h.in("OnClose") }
func (h packetDoer) OnError(*server.PacketConn, error) error { return nil }

// sequential is a doer that is a function: it does its deed at once, or in a deferred call.
func (h *doer) sequential() server.Handler {
	return server.Sequential(func(cx *sched.Context, s *server.Stream) error {
		defer h.in("defer")
		h.begun <- true
		if h.at == "child" {
			s.Go(func(*sched.Context) error { h.deed(); return nil })
		}
		_, err := s.Read(make([]byte, 1))
		h.in("body")
		return err
	})
}

// places are where a handler may do its deed.
var places = []struct {
	kind string
	at   []string
}{
	{"callback", []string{"OnOpen", "OnData", "OnEOF", "OnDeadline", "OnDrain", "OnClose", "Do", "NotifySent", "NotifyClose"}},
	{"sequential", []string{"body", "child", "defer"}},
	{"packets", []string{"OnOpen", "OnPackets", "OnTimer", "OnDrain", "OnClose", "Do"}},
}

// last are the places that a handler comes to only when its connection, or the server, ends.
var last = []string{"OnDrain", "OnClose", "NotifyClose", "defer"}

// A server's Shutdown and Close return although a handler exits or panics, and leave nothing.
func TestAServerEndsInOrderThoughItsHandlersExitOrPanic(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		eachDeed(func(shared bool, kind, at, end string) {
			for name, do := range map[string]func(){"exits": runtime.Goexit, "panics": func() { panic("the deed") }} {
				t.Run(deedName(shared, kind, at, end)+" "+name, func(t *testing.T) {
					s, ended := doDeed(t.Context(), t, backend, workers, shared, kind, at, end, do)
					require.NoError(t, conntest.Receive(t, ended))
					conntest.Eventually(t, func() bool { return s.Group().Len() == 0 })
				})
			}
		})
	})
}

// Shutdown and Close return although a handler blocks. The handler's resources are released when it
// returns.
func TestAServerEndsWhereverAHandlerBlocks(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		var all []func()
		eachDeed(func(shared bool, kind, at, end string) {
			i := len(all)
			all = append(all, func() {
				open := make(chan struct{})
				workers := 1 + i%2
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s, ended := doDeed(ctx, t, backend, workers, shared, kind, at, end, func() { <-open })
				t.Cleanup(func() {
					close(open)
					conntest.Eventually(t, func() bool { return s.Group().Len() == 0 })
				})
				cancel()
				err := conntest.Receive(t, ended, deedName(shared, kind, at, end))
				require.ErrorIs(t, err, conn.ErrStuck, deedName(shared, kind, at, end))
				require.Equal(t, end == "Shutdown", errors.Is(err, context.Canceled), "%v", err)
			})
		})
		conntest.Each(t, len(all), func(i int) error { all[i](); return nil }) // each takes a second
	})
}

// eachDeed calls f with each place, on a server's own workers and on a shared group, and with
// each end that comes there.
func eachDeed(f func(shared bool, kind, at, end string)) {
	for _, p := range places {
		for _, at := range p.at {
			for _, shared := range []bool{false, true} {
				f(shared, p.kind, at, "Shutdown")
				if at != "OnDrain" { // which Close does not call
					f(shared, p.kind, at, "Close")
				}
			}
		}
	}
}

func deedName(shared bool, kind, at, end string) string {
	if shared {
		kind += " on a group"
	}
	return kind + ", " + at + ", " + end
}

// doDeed does a deed in a handler, and ends its server meanwhile or afterwards.
func doDeed(ctx context.Context, t *testing.T, backend string, workers int, shared bool, kind, at, end string, do func()) (*running, chan error) {
	done := make(chan bool, 100)
	h := &doer{at: at, deed: func() { done <- true; do() }, begun: make(chan bool, 1)}
	srv := &server.Server{Handler: h}
	switch kind {
	case "sequential":
		srv.Handler = h.sequential()
	case "packets":
		srv.Handler, srv.Network, srv.Packets = nil, "udp", packetDoer{doer: h}
	}
	var s *running
	if shared {
		s = runOn(t, sharedGroup(t, backend, workers), srv)
	} else {
		srv.Backend, srv.Workers = backend, workers
		s = run(t, srv)
	}
	c := s.dial()
	writeByte(t, c)
	if at == "OnEOF" {
		require.NoError(t, c.(*net.TCPConn).CloseWrite())
	}
	conntest.Receive(t, h.begun, deedName(shared, kind, at, end))
	if !slices.Contains(last, at) {
		conntest.Eventually(t, func() bool { return len(done) > 0 }, deedName(shared, kind, at, end))
	}
	ended := make(chan error, 1)
	go func() {
		if end == "Close" {
			ended <- s.Close()
			return
		}
		ended <- s.Shutdown(ctx)
	}()
	conntest.Receive(t, done, deedName(shared, kind, at, end))
	return s, ended
}
