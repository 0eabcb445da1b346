package process_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// A session echoes what it receives, and sends the bytes that are published.
type session struct {
	server.Base
	s       *process.System
	started chan process.PID
	closed  chan error
	sending func() // is called after each WriteNow

	changing func(c *server.Conn) error // is called with each string
}

func (h *session) OnStart(c *server.Conn, self *process.Self) error {
	c.SetValue(self)
	return h.s.JoinGroup("all", self.PID())
}

func (h *session) OnOpen(c *server.Conn) error {
	self, _ := server.ValueOf[*process.Self](c)
	h.started <- self.PID()
	return nil
}

func (h *session) OnData(c *server.Conn) error {
	p, err := c.Next(-1)
	if err != nil {
		return err
	}
	_, err = c.Write(p)
	return err
}

func (h *session) OnEvent(c *server.Conn, ev process.Event) error {
	switch m := ev.Data.(type) {
	case []byte:
		_, err := c.WriteNow(m)
		if h.sending != nil {
			h.sending()
		}
		return err
	case string:
		return h.changing(c)
	case error:
		return m
	}
	return nil
}

func (h *session) OnClose(_ *server.Conn, err error) { h.closed <- err }

// serveSessions serves h, and returns an address.
func serveSessions(t *testing.T, s *process.System, h *session, workers int) string {
	t.Helper()
	h.s = s
	h.started, h.closed = make(chan process.PID, 10000), make(chan error, 10000)
	return serve(t, &server.Server{Workers: workers, Handler: process.Handler(s, h, process.Options{})})
}

// serve runs a server on any port, and returns its address.
func serve(t *testing.T, srv *server.Server) string {
	t.Helper()
	addr := make(chan net.Addr, 1)
	srv.Addr, srv.Listening = "127.0.0.1:0", func(a net.Addr) { addr <- a }
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx, srv) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, receive(t, "the server stops", done))
	})
	return receive(t, "the server listens", addr).String()
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, patience.Limit)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(patience.Limit)))
	return c
}

// Each connection gets the published messages in order, beside its own traffic.
func TestABroadcastReachesAllConnections(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			s := newSystem(t, 2, process.Config{})
			h := &session{}
			addr := serveSessions(t, s, h, workers)
			n := rounds(400)
			conns := make([]net.Conn, n)
			for i := range conns {
				conns[i] = dial(t, addr)
			}
			for range conns {
				receive(t, "a connection's process", h.started)
			}
			require.Equal(t, n, s.Len())
			const messages = 5
			var want bytes.Buffer
			for i := range messages {
				m := bytes.Repeat([]byte{byte('a' + i)}, 1000)
				want.Write(m)
				require.Equal(t, n, s.Publish(t.Context(), "all", m))
			}
			var wg sync.WaitGroup
			for part := range 4 {
				wg.Go(func() {
					got := make([]byte, want.Len()+4)
					for i := part; i < n; i += 4 {
						if _, err := io.ReadFull(conns[i], got[:want.Len()]); err != nil || !bytes.Equal(got[:want.Len()], want.Bytes()) {
							t.Errorf("connection %d got other bytes: %v", i, err)
							return
						}
						if _, err := conns[i].Write([]byte("echo")); err != nil {
							t.Error(err)
						}
						if _, err := io.ReadFull(conns[i], got[:4]); err != nil || string(got[:4]) != "echo" {
							t.Errorf("got %q, %v", got[:4], err)
						}
					}
				})
			}
			wg.Wait()
			for _, c := range conns {
				c.Close()
			}
			eventually(t, "all processes have ended", func() bool { return s.Len() == 0 && len(s.Members("all")) == 0 })
		})
	}
}

// The bytes of WriteNow have arrived although the handler has not returned.
func TestWriteNowDoesNotWaitForTheHandlersReturn(t *testing.T) {
	s := newSystem(t, 2, process.Config{})
	arrived := make(chan struct{})
	h := &session{sending: func() { <-arrived }}
	addr := serveSessions(t, s, h, 2)
	c := dial(t, addr)
	receive(t, "the connection's process", h.started)
	require.Equal(t, 1, s.Publish(t.Context(), "all", []byte("now")))
	got := make([]byte, 3)
	_, err := io.ReadFull(c, got)
	close(arrived)
	require.NoError(t, err)
	require.Equal(t, "now", string(got))
}

// Messages reach a connection that was busy, also if there are more than it gets at a time, and if
// too many functions of others wait for the connection.
func TestABusyConnectionGetsAllMessages(t *testing.T) {
	s := newSystem(t, 2, process.Config{})
	entered, release := make(chan struct{}), make(chan struct{})
	busy := true
	h := &session{sending: func() {
		if busy {
			busy = false
			close(entered)
			<-release
		}
	}}
	handles := make(chan server.Handle, 1)
	h.changing = func(c *server.Conn) error { handles <- c.Handle(); return nil }
	addr := serveSessions(t, s, h, 1)
	peer := dial(t, addr)
	pid := receive(t, "the connection's process", h.started)
	require.NoError(t, s.TrySend(pid, "its handle"))
	handle := receive(t, "its handle", handles)
	eventually(t, "it is idle", func() bool { return s.Status(pid) == process.Idle })
	require.NoError(t, s.TrySend(pid, []byte("x")))
	receive(t, "a handler that does not return", entered)
	for {
		if err := handle.Do(func(*server.Conn) {}); err != nil {
			require.Equal(t, conn.ErrTooManyCalls, err)
			break
		}
	}
	for range 500 {
		require.NoError(t, s.TrySend(pid, []byte("x")))
	}
	close(release)
	got := make([]byte, 501)
	_, err := io.ReadFull(peer, got)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("x", 501), string(got))
}

// A connection ends by cancel, kill, an error of its handler, or its peer; its monitors are told.
func TestTheEndsOfConnections(t *testing.T) {
	s := newSystem(t, 2, process.Config{})
	h := &session{}
	addr := serveSessions(t, s, h, 2)
	for name, c := range map[string]struct {
		end    func(c net.Conn, pid process.PID) error
		reason error
	}{
		"cancel": {func(_ net.Conn, pid process.PID) error { return s.Cancel(pid) }, nil},
		"kill":   {func(_ net.Conn, pid process.PID) error { return s.Kill(pid) }, process.ErrKilled},
		"error":  {func(_ net.Conn, pid process.PID) error { return s.TrySend(pid, errTest) }, errTest},
		"peer":   {func(c net.Conn, _ process.PID) error { return c.Close() }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			peer := dial(t, addr)
			pid := receive(t, "the connection's process", h.started)
			watching, reason := make(chan struct{}), make(chan error, 1)
			spawn(t, s, func(cx *sched.Context, self *process.Inbox[any]) error {
				self.Monitor(pid)
				close(watching)
				ev, err := self.ReceiveEvent(cx)
				reason <- ev.Error
				return err
			})
			receive(t, "the monitor", watching)
			require.NoError(t, c.end(peer, pid))
			if name != "peer" {
				_, err := peer.Read(make([]byte, 1))
				require.Error(t, err)
				peer.Close()
			}
			require.Equal(t, c.reason, receive(t, "the process's end", reason))
			closed := receive(t, "OnClose", h.closed)
			if name == "kill" {
				require.Error(t, closed)
			} else {
				require.Equal(t, c.reason, closed)
			}
			require.Equal(t, process.ErrNoProcess, s.TrySend(pid, nil))
		})
	}
}

// reasonOf returns a channel that gets the reason of a process. It monitors the process by now.
func reasonOf(t *testing.T, s *process.System, pid process.PID) <-chan error {
	t.Helper()
	reason := make(chan error, 1)
	_, ok := s.OnEnd(pid, func(err error) { reason <- err })
	require.True(t, ok)
	return reason
}

// A message that arrives while a connection lingers fails, and the end is in order all the same.
func TestAMessageAfterTheCloseOfAConnection(t *testing.T) {
	s := newSystem(t, 2, process.Config{})
	failed := make(chan struct{}, 1)
	h := &session{sending: func() { failed <- struct{}{} }}
	addr := serveSessions(t, s, h, 2)
	peer := dial(t, addr)
	pid := receive(t, "the connection's process", h.started)
	reason := reasonOf(t, s, pid)
	require.NoError(t, s.Cancel(pid))
	_, err := peer.Read(make([]byte, 1))
	require.Equal(t, io.EOF, err)
	require.NoError(t, s.TrySend(pid, []byte("late")))
	receive(t, "the write", failed)
	require.NoError(t, peer.Close())
	require.NoError(t, receive(t, "the process's end", reason))
	require.NoError(t, receive(t, "OnClose", h.closed))
}

// A connection that opens after the shutdown of the System is no process.
func TestAConnectionAfterTheShutdown(t *testing.T) {
	s := process.New(process.Config{})
	h := &session{}
	addr := serveSessions(t, s, h, 1)
	require.NoError(t, s.Shutdown(t.Context()))
	_, err := dial(t, addr).Read(make([]byte, 1))
	require.Equal(t, io.EOF, err)
	require.Equal(t, process.ErrShutdown, receive(t, "OnClose", h.closed))
	require.Empty(t, h.started)
	require.Empty(t, s.Members("all"), "OnStart was not called")
}

// A connection whose OnStart fails still sends its output, and gets no events. A kill ends it.
func TestAConnectionWhoseStartFailsCanBeKilled(t *testing.T) {
	s := newSystem(t, 2, process.Config{})
	h := &failing{started: make(chan process.PID, 1)}
	srv := &server.Server{Workers: 1, Handler: process.Handler(s, h, process.Options{})}
	srv.ConnConfig.LingerTimeout = time.Hour
	peer := dial(t, serve(t, srv))
	pid := receive(t, "the connection's process", h.started)
	reason := reasonOf(t, s, pid)
	require.NoError(t, s.TrySend(pid, errTest))
	require.NoError(t, s.Cancel(pid))
	require.NoError(t, s.Kill(pid))
	require.Equal(t, process.ErrKilled, receive(t, "the process's end", reason))
	_, err := io.Copy(io.Discard, peer)
	require.Error(t, err, "a reset")
}

// The OnStart of failing writes more than the kernel takes, and fails.
type failing struct {
	server.Base
	started chan process.PID
}

func (h *failing) OnData(*server.Conn) error { return nil }

func (h *failing) OnStart(c *server.Conn, self *process.Self) error {
	h.started <- self.PID()
	_, _ = c.Write(make([]byte, 64<<20))
	return errTest
}

func (h *failing) OnEvent(*server.Conn, process.Event) error {
	panic("of a connection that has not started")
}

// A successor is the handler of a connection that had another one.
type successor struct {
	server.Base
	closed chan error
}

func (h *successor) OnData(*server.Conn) error { return errTest }

func (h *successor) OnClose(_ *server.Conn, err error) { h.closed <- err }

// A connection's process ends with the connection, whichever handler that has by then.
func TestTheProcessOfAConnectionWithAnotherHandler(t *testing.T) {
	for name, change := range map[string]func(c *server.Conn, to server.Handler) error{
		"SetHandler": (*server.Conn).SetHandler,
		"PassTo":     (*server.Conn).PassTo,
	} {
		t.Run(name, func(t *testing.T) {
			s := newSystem(t, 2, process.Config{})
			next := &successor{closed: make(chan error, 1)}
			h := &session{}
			h.changing = func(c *server.Conn) error { return change(c, next) }
			addr := serveSessions(t, s, h, 2)
			peer := dial(t, addr)
			pid := receive(t, "the connection's process", h.started)
			reason := reasonOf(t, s, pid)
			require.NoError(t, s.TrySend(pid, "another handler"))
			require.NoError(t, s.TrySend(pid, []byte("still heard")))
			got := make([]byte, len("still heard"))
			_, err := io.ReadFull(peer, got)
			require.NoError(t, err)
			require.Equal(t, "still heard", string(got))
			_, err = peer.Write([]byte("end"))
			require.NoError(t, err)
			_, err = peer.Read(got)
			require.Equal(t, io.EOF, err)
			require.NoError(t, peer.Close())
			require.Equal(t, errTest, receive(t, "OnClose", next.closed))
			require.Equal(t, errTest, receive(t, "the process's end", reason))
			require.Empty(t, h.closed)
		})
	}
}

// Logs name the handler within.
func TestTheNameOfAConnectionsHandler(t *testing.T) {
	s := newSystem(t, 1, process.Config{})
	h := &session{}
	names := make(chan []string, 1)
	h.changing = func(c *server.Conn) error {
		var all []string
		for i := range c.Group().Connections() {
			all = append(all, i.Handler)
		}
		names <- all
		return nil
	}
	addr := serveSessions(t, s, h, 1)
	dial(t, addr)
	require.NoError(t, s.TrySend(receive(t, "the connection's process", h.started), "another handler"))
	require.Equal(t, []string{"*process_test.session"}, receive(t, "the names", names))
	named, ok := process.Handler(s, h, process.Options{}).(interface{ HandlerName() string })
	require.True(t, ok)
	require.Equal(t, "*process_test.session", named.HandlerName())
}
