package conn_test

import (
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// A slowHandler blocks its worker until the hook has reported it.
type slowHandler struct {
	conn.Base
	told chan sched.SlowTask
	done chan sched.SlowTask
}

func (h *slowHandler) blockTheWorker() { h.done <- <-h.told }

func (h *slowHandler) OnData(c *conn.Conn) error {
	h.blockTheWorker()
	b, err := c.Next(1)
	if err == nil {
		_, err = c.Write(b)
	}
	return err
}

func (h *slowHandler) serve(_ *sched.Context, s *conn.Stream) error {
	var b [1]byte
	for {
		if _, err := s.Read(b[:]); err != nil {
			return nil
		}
		h.blockTheWorker()
		if _, err := s.Write(b[:]); err != nil {
			return err
		}
	}
}

func TestASlowHandlerIsReportedWhileItRuns(t *testing.T) {
	for name, kind := range map[string]struct {
		handler func(*slowHandler) conn.Handler
		named   string
		method  string
	}{
		"callbacks":  {func(h *slowHandler) conn.Handler { return h }, "*conn_test.slowHandler", "(*slowHandler).OnData"},
		"sequential": {func(h *slowHandler) conn.Handler { return conn.Sequential(h.serve) }, "conn_test.(*slowHandler).serve", "(*slowHandler).serve"},
	} {
		t.Run(name, func(t *testing.T) {
			conntest.MatrixOf(t, []int{1, 2, 4}, func(t *testing.T, backend string, workers int) {
				h := &slowHandler{told: make(chan sched.SlowTask, 1), done: make(chan sched.SlowTask)}
				var log conntest.Log
				cfg := conn.Config{Logger: log.Logger()}
				cfg.Reactor.Backend = backend
				g, err := conn.NewGroup(cfg, sched.Config{Workers: workers, SlowTask: time.Millisecond, Hooks: sched.Hooks{SlowTask: func(s sched.SlowTask) {
					if s.Peer != "" { // the machine may be slow, and other tasks with it
						select {
						case h.told <- s:
						default:
						}
					}
				}}})
				require.NoError(t, err)
				defer func() {
					g.Abort()
					require.NoError(t, g.Wait(t.Context()))
					require.NoError(t, g.Close())
				}()
				ln, err := net.Listen("tcp", "127.0.0.1:0")
				require.NoError(t, err)
				l, err := g.Listen(ln, kind.handler(h))
				require.NoError(t, err)
				require.NoError(t, ln.Close())
				defer l.Close()
				c, err := net.Dial("tcp", l.Addr().String())
				require.NoError(t, err)
				defer c.Close()
				const n = 12
				shown := false // by the one stack in a second, or a later one if the machine made another run slow
				for i := 0; i < n || !shown; i++ {
					_, err = c.Write([]byte("x"))
					require.NoError(t, err)
					s := conntest.Receive(t, h.done, "the handler is reported while it runs")
					require.Contains(t, s.Handler, kind.named)
					require.Equal(t, c.LocalAddr().String(), s.Peer)
					shown = shown || strings.Contains(s.Stack, kind.method) && strings.Contains(s.Stack, "blockTheWorker")
					_, err = c.Read(make([]byte, 1))
					require.NoError(t, err)
				}
				conntest.Eventually(t, func() bool { return g.Stats().SlowPolls >= n }, "all are counted")
				require.GreaterOrEqual(t, g.Stats().MaxPoll, time.Millisecond)
				require.NotZero(t, log.Count("occupies its worker"))
			})
		})
	}
}

// A Socket's task moves bytes for goroutines. On an overloaded machine its runs may be slow, and
// nobody can mend that by blocking.Do.
func TestASlowRunOfASocketIsCountedAndNotReported(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		var told sync.Map
		cfg := conn.Config{}
		cfg.Reactor.Backend = backend
		g, err := conn.NewGroup(cfg, sched.Config{Workers: 2, SlowTask: time.Millisecond, Hooks: sched.Hooks{SlowTask: func(s sched.SlowTask) {
			told.Store(s.Handler+" "+s.Peer, true)
		}}})
		require.NoError(t, err)
		defer func() {
			g.Abort()
			require.NoError(t, g.Wait(t.Context()))
			require.NoError(t, g.Close())
		}()
		l, err := g.ListenSocket(conn.SocketListenerConfig{}, conntest.Listen(t))
		require.NoError(t, err)
		defer l.Close()
		c, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		defer c.Close()
		s, err := l.AcceptContext(t.Context())
		require.NoError(t, err)
		defer s.Close()
		began, release := make(chan bool), make(chan bool)
		for i := range g.Connections() {
			require.Equal(t, "conn.Socket", i.Handler)
			require.NoError(t, i.Handle.Do(func(*conn.Conn) { close(began); <-release }))
		}
		conntest.Receive(t, began)
		other := sched.Go(g.Runtime(), func(*sched.Context) (int, error) { <-release; return 0, nil })
		conntest.Eventually(t, func() bool { // its run has begun later than the Socket's
			for what := range told.Range {
				if !strings.Contains(what.(string), c.LocalAddr().String()) {
					return true
				}
			}
			return false
		})
		close(release)
		_, err = other.Wait(t.Context())
		require.NoError(t, err)
		conntest.Eventually(t, func() bool { return g.Stats().SlowPolls >= 2 }, "both are counted")
		told.Range(func(what, _ any) bool {
			require.NotContains(t, what, c.LocalAddr().String())
			return true
		})
	})
}
