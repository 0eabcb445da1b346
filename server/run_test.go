package server_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// A program is a Run in a goroutine, whose signals are the test's.
type program struct {
	t       *testing.T
	end     context.CancelFunc
	signals chan os.Signal
	over    chan error
	addrs   chan net.Addr
}

func runProgram(t *testing.T, servers ...*server.Server) *program {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	p := &program{t, cancel, make(chan os.Signal, 2), make(chan error, 1), make(chan net.Addr, len(servers))}
	for _, s := range servers {
		if s.Group() == nil && s.Addr == "" {
			s.Addr = "127.0.0.1:0"
		}
		if s.On == nil {
			s.Logger = (&conntest.Log{}).Logger()
		}
		s.Listening = func(a net.Addr) { p.addrs <- a }
		t.Cleanup(func() { _ = s.Close() })
	}
	go func() { p.over <- server.RunWith(ctx, p.signals, servers) }()
	return p
}

func (p *program) dial() net.Conn {
	p.t.Helper()
	c, err := net.DialTimeout("tcp", conntest.Receive(p.t, p.addrs).String(), conntest.Patience)
	require.NoError(p.t, err)
	require.NoError(p.t, c.SetDeadline(time.Now().Add(conntest.Patience)))
	p.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (p *program) result() error {
	p.t.Helper()
	return conntest.Receive(p.t, p.over)
}

func TestRunEndsInOrder(t *testing.T) {
	for name, ask := range map[string]func(p *program, s *server.Server){
		"SIGTERM":         func(p *program, _ *server.Server) { p.signals <- syscall.SIGTERM },
		"SIGINT":          func(p *program, _ *server.Server) { p.signals <- os.Interrupt },
		"ctx":             func(p *program, _ *server.Server) { p.end() },
		"others shutdown": func(_ *program, s *server.Server) { go func() { _ = s.Shutdown(context.Background()) }() },
	} {
		t.Run(name, func(t *testing.T) {
			conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
				s := &server.Server{Handler: echo{}, Backend: backend, Workers: workers, ShutdownTimeout: -1}
				p, f := runProgram(t, s), newFlush()
				c := p.dial()
				roundTrip(t, c, "x")
				s.Tasks().Go(s.Group().Runtime(), f.run).Detach()
				ask(p, s)
				conntest.Receive(t, f.asked)
				_, err := io.ReadAll(c)
				require.NoError(t, err, "the end is in order")
				require.NoError(t, c.Close())
				require.Empty(t, p.over, "it waits for the task")
				f.may.Cancel()
				require.NoError(t, p.result())
				require.True(t, f.flushed.Load())
			})
		})
	}
}

func TestRunServesAListenerThatIsThere(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		s := &server.Server{Listener: ln, Addr: "203.0.113.1:1", Handler: echo{}, Backend: backend, Workers: workers}
		p := runProgram(t, s)
		c := p.dial()
		require.Equal(t, ln.Addr().String(), c.RemoteAddr().String())
		roundTrip(t, c, "x")
		p.end()
		require.NoError(t, p.result())
		_, err = ln.Accept()
		require.ErrorIs(t, err, net.ErrClosed)
	})
}

func TestASecondSignalEndsRunAtOnce(t *testing.T) {
	for name, first := range map[string]func(p *program){
		"after a signal": func(p *program) { p.signals <- os.Interrupt },
		"after ctx":      func(p *program) { p.end() },
	} {
		t.Run(name, func(t *testing.T) {
			conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
				s := &server.Server{Handler: echo{}, Backend: backend, Workers: workers, ShutdownTimeout: -1}
				p, f := runProgram(t, s), newFlush()
				roundTrip(t, p.dial(), "x")
				h := s.Tasks().Go(s.Group().Runtime(), f.run)
				first(p)
				conntest.Receive(t, f.asked)
				p.signals <- syscall.SIGTERM
				err := p.result()
				require.ErrorIs(t, err, server.ErrInterrupted)
				require.ErrorIs(t, err, context.Canceled)
				require.ErrorContains(t, err, "server_test.(*flush).run")
				_, err = h.Wait(t.Context())
				require.Error(t, err)
			})
		})
	}
}

func TestRunsTimeOutEndsWhatIsLeft(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		s := &server.Server{Handler: echo{}, Backend: backend, Workers: workers, ShutdownTimeout: 20 * time.Millisecond}
		p := runProgram(t, s)
		roundTrip(t, p.dial(), "x")
		h := s.Tasks().Go(s.Group().Runtime(), busy)
		p.signals <- syscall.SIGTERM
		err := p.result()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "20ms")
		require.ErrorContains(t, err, "server_test.busy")
		require.NotErrorIs(t, err, server.ErrInterrupted)
		_, err = h.Wait(t.Context())
		require.Error(t, err)
	})
}

func TestRunEndsTheOtherServersIfOneFails(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		taken := conntest.Listen(t)
		good := &server.Server{Handler: echo{}, Backend: backend}
		bad := &server.Server{Handler: echo{}, Backend: backend, Addr: taken.Addr().String()}
		p := runProgram(t, good, bad)
		err := p.result()
		require.Error(t, err)
		require.NotErrorIs(t, err, server.ErrServerClosed)
		require.Equal(t, server.ErrServerClosed, good.ListenAndServe(), "it has ended as well")
	})
}

// The signal ends the rest of the other server at once, but is not the cause of the end.
func TestTheErrorOfAFailedServerStaysThatAfterASignal(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		taken := conntest.Listen(t)
		good := &server.Server{Handler: echo{}, Backend: backend, ShutdownTimeout: -1}
		_, err := good.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		f := newFlush()
		good.Tasks().Go(good.Group().Runtime(), f.run).Detach()
		bad := &server.Server{Handler: echo{}, Backend: backend, Addr: taken.Addr().String()}
		p := runProgram(t, good, bad)
		conntest.Receive(t, f.asked)
		require.Empty(t, p.over, "it waits for the task")
		p.signals <- syscall.SIGTERM
		err = p.result()
		require.ErrorIs(t, conn.Portable(err), syscall.EADDRINUSE)
		require.NotErrorIs(t, err, server.ErrInterrupted)
		require.ErrorContains(t, err, "server_test.(*flush).run", "what was left is told")
	})
}

func TestRunOfServersOnASharedGroup(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		g := sharedGroup(t, backend, workers)
		a, b := &server.Server{Handler: echo{}, On: g}, &server.Server{Handler: echo{}, On: g}
		p := runProgram(t, a, b)
		for range 2 {
			roundTrip(t, p.dial(), "x")
		}
		p.signals <- syscall.SIGTERM
		require.NoError(t, p.result())
		conntest.Eventually(t, func() bool { return g.Len() == 0 })
		_, err := sched.Go(g.Runtime(), func(*sched.Context) (int, error) { return 1, nil }).Wait(t.Context())
		require.NoError(t, err, "the group goes on")
	})
}

// A server that listens for tasks is not asked to listen again.
func TestRunOfAServerThatListensAlready(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		s := &server.Server{Backend: backend, Logger: (&conntest.Log{}).Logger()}
		l, err := s.ListenStream("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		s.Tasks().Go(s.Group().Runtime(), func(cx *sched.Context) error {
			for {
				c, err := l.Accept(cx)
				if errors.Is(err, net.ErrClosed) {
					return nil
				}
				if err != nil {
					return err
				}
				_, _ = io.WriteString(c, "hello")
				_ = c.Close()
			}
		}).Detach()
		p := runProgram(t, s)
		c, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		defer c.Close()
		text, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Equal(t, "hello", string(text))
		require.Empty(t, p.over)
		_ = c.Close()
		p.signals <- syscall.SIGTERM
		require.NoError(t, p.result())
	})
}

func TestRunReturnsWhenItsServerIsClosed(t *testing.T) {
	s := &server.Server{Handler: echo{}}
	p := runProgram(t, s)
	roundTrip(t, p.dial(), "x")
	require.NoError(t, s.Close())
	require.NoError(t, p.result())
	again := runProgram(t, s)
	require.NoError(t, again.result(), "it has ended before")
	require.NoError(t, server.RunWith(t.Context(), nil, []*server.Server{closedBefore(t)}))
}

// closedBefore is a server that was closed before it served.
func closedBefore(t *testing.T) *server.Server {
	s := &server.Server{Handler: echo{}, Addr: "127.0.0.1:0"}
	require.NoError(t, s.Close())
	return s
}

func TestRunWithoutServersIsAnError(t *testing.T) {
	require.Error(t, server.Run(t.Context()))
}
