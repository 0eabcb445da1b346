package conn_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/reactor"
)

// passing are faults that no handler notices.
var passing = map[string][]faults.Rule{
	"interrupted": conntest.Fail(syscall.EINTR, 0.1, faults.Accept, faults.Recv, faults.Send, faults.RecvFrom,
		faults.Wait, faults.WakeRead, faults.WakeWrite),
	"not ready after all": conntest.Fail(syscall.EAGAIN, 0.1, faults.Recv, faults.Send, faults.RecvFrom, faults.WakeRead),
	"no buffers":          conntest.Fail(syscall.ENOBUFS, 0.1, faults.Recv, faults.Send, faults.RecvFrom),
	"short":               conntest.Fail(0, 0.3, faults.Accept, faults.Recv, faults.Send, faults.RecvFrom, faults.SendTo),
	"aborted":             conntest.Fail(syscall.ECONNABORTED, 0.3, faults.Accept),
}

func init() {
	for _, name := range []string{"interrupted", "not ready after all", "no buffers", "short", "aborted"} {
		passing["all at once"] = append(passing["all at once"], passing[name]...)
	}
	passing["all at once"] = slices.Concat(passing["all at once"],
		conntest.Fail(syscall.EINVAL, 0.5, faults.SyncCancel), conntest.Fail(syscall.EMFILE, 0.5, faults.Timer))
}

// underFaults runs f on every backend and number of workers, under each of the plans.
func underFaults(t *testing.T, rules map[string][]faults.Rule,
	f func(t *testing.T, backend string, workers int, plan *faults.Plan, faulty func(*conn.Config))) {
	for name, rules := range rules {
		t.Run(name, func(t *testing.T) {
			conntest.MatrixOf(t, []int{1, 2, 4}, func(t *testing.T, backend string, workers int) {
				rules := slices.Clone(rules)
				if backend == "io_uring" { // its call has errors of its own, and there are few others as long as nothing ends
					rules = append(rules, conntest.Fail(syscall.EBUSY, 0.05, faults.Wait)...)
					rules = append(rules, conntest.Fail(syscall.ENOMEM, 0.02, faults.Wait)...)
					rules = append(rules, conntest.Fail(syscall.ENOBUFS, 0.02, faults.Wait)...)
					rules = append(rules, conntest.Fail(0, 0.7, faults.Accept, faults.Recv)...)
				}
				plan := conntest.Faults(t, rules...)
				f(t, backend, workers, plan, func(cfg *conn.Config) {
					faults.Into(&cfg.Reactor, plan)
					if workers == 2 { // so that each connection and each piece is an operation, which may fail
						cfg.Reactor.Without = []reactor.Feature{reactor.FeatureMultishotAccept, reactor.FeatureMultishotRecv}
					}
				})
				require.Positive(t, plan.Total(), "%v", plan)
			})
		})
	}
}

func TestEveryByteComesBackUnderFaults(t *testing.T) {
	underFaults(t, passing, func(t *testing.T, backend string, workers int, _ *faults.Plan, faulty func(*conn.Config)) {
		f := serve(t, backend, workers, funcs{data: echo}, faulty)
		const n = 60
		f.each(n, func(i int, c net.Conn) error {
			r := rand.New(rand.NewPCG(uint64(i), rand.Uint64()))
			return roundTrip(c, r, piece(r, int(math.Exp2(r.Float64()*18))))
		})
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
		require.EqualValues(t, n, f.audit.closed.Load())
		require.Zero(t, f.log.Count("ERROR"), "%v", f.log)
	})
}

// The same with both ends on the reactors, and with connections that end at random
// moments: cancels are under way while calls fail.
func TestConnectionsEndOnceUnderFaults(t *testing.T) {
	underFaults(t, map[string][]faults.Rule{"all at once": passing["all at once"]},
		func(t *testing.T, backend string, workers int, _ *faults.Plan, faulty func(*conn.Config)) {
			f := serve(t, backend, workers, funcs{data: echo}, faulty)
			const n = 200
			var over atomic.Int64
			h := f.audit.of(funcs{
				open: func(c *conn.Conn) error {
					_, err := c.Write(noise[:1+rand.IntN(64<<10)])
					return err
				},
				data: func(c *conn.Conn) error {
					switch rand.IntN(20) {
					case 0:
						c.Abort()
					case 1:
						return c.Close()
					case 2:
						return c.CloseWrite()
					case 3:
						return errTest
					}
					return echo(c) // and so on, to and fro
				},
				close: func(*conn.Conn, error) { over.Add(1) },
			})
			for i := range n {
				handle, err := f.Dial(f.addr, h)
				require.NoError(t, err)
				switch i % 8 {
				case 0:
					_ = handle.Abort()
				case 1:
					_ = handle.Close()
				case 2:
					time.Sleep(time.Millisecond) // for some variety
				}
			}
			conntest.Eventually(t, func() bool { return over.Load() > n/2 })
			f.Abort() // also connections that are still busy
			conntest.Eventually(t, func() bool { return f.Len() == 0 && over.Load() == n })
		})
}

// With each of the errnos that it may be. Those behind the listening
// socket wait; none is lost.
func TestEveryConnectionIsAcceptedInTheEndUnderFaults(t *testing.T) {
	lacking := map[string][]faults.Rule{}
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EPERM} {
		lacking[errno.Error()] = []faults.Rule{
			{Call: faults.Accept, Errno: errno, Every: 1, Most: 2},
			{Call: faults.Accept, Errno: errno, Every: 4, Most: 3},
		}
	}
	underFaults(t, lacking, func(t *testing.T, backend string, workers int, plan *faults.Plan, faulty func(*conn.Config)) {
		f := serve(t, backend, workers, funcs{data: echo}, faulty)
		const n = 40
		f.each(n, func(i int, c net.Conn) error {
			return roundTrip(c, rand.New(rand.NewPCG(uint64(i), 60)), []byte("hello"))
		})
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
		require.EqualValues(t, n, f.audit.opened.Load())
		require.GreaterOrEqual(t, f.log.Count("accept failed"), 2, "%v", plan)
		require.LessOrEqual(t, f.log.Count("accept failed"), 5)
	})
}

// An interrupted connect goes on.
func TestAnInterruptedConnectGoesOnUnderFaults(t *testing.T) {
	interrupted := map[string][]faults.Rule{"EINTR": conntest.Fail(syscall.EINTR, 0.5, faults.Connect)}
	underFaults(t, interrupted, func(t *testing.T, backend string, workers int, _ *faults.Plan, faulty func(*conn.Config)) {
		for network, addr := range map[string]string{"tcp4": "127.0.0.1:0", "unix": t.TempDir() + "/socket"} {
			f := newFixture(t, backend, workers, faulty)
			f.listen(network, addr, funcs{data: echo})
			dialed, failed := f.dialMany(t, 50)
			require.Empty(t, failed)
			require.Equal(t, 50, dialed)
		}
	})
}

// dialMany dials from the group to itself, says hello on each connection and hears
// it. It returns how many went well, and the errors of the others.
func (f *fixture) dialMany(t *testing.T, n int) (good int, failed []error) {
	t.Helper()
	ends, opened := make(chan error, n), atomic.Int64{}
	h := f.audit.of(funcs{
		open: func(c *conn.Conn) error {
			opened.Add(1)
			_, err := c.WriteString("hello")
			return err
		},
		data: func(c *conn.Conn) error {
			if c.Buffered() < 5 {
				return nil
			}
			if p, _ := c.Next(-1); string(p) != "hello" {
				return fmt.Errorf("%q came back", p)
			}
			return c.Close()
		},
		close: func(_ *conn.Conn, err error) { ends <- err },
	})
	for range n {
		_, err := f.Dial(f.addr, h)
		require.NoError(t, err)
	}
	for range n {
		if err := conntest.Receive(t, ends); err == nil {
			good++
		} else {
			failed = append(failed, err)
		}
	}
	require.Empty(t, ends, "a second OnClose")
	require.EqualValues(t, good, opened.Load(), "OnOpen of those that failed")
	return good, failed
}

// A connect that fails is one error of its connection, the kernel's, and the others
// are none the wiser.
func TestAFaultyConnectIsOneErrorOfItsConnection(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EAGAIN, syscall.ENOBUFS, syscall.ETIMEDOUT, syscall.EADDRNOTAVAIL} {
		failing := map[string][]faults.Rule{errno.Error(): conntest.Fail(errno, 0.3, faults.Connect, faults.SocketError)}
		underFaults(t, failing, func(t *testing.T, backend string, workers int, plan *faults.Plan, faulty func(*conn.Config)) {
			f := serve(t, backend, workers, funcs{data: echo}, faulty)
			good, failed := f.dialMany(t, 50)
			require.Equal(t, plan.Injected(faults.Connect, errno)+plan.Injected(faults.SocketError, errno), len(failed))
			require.Equal(t, 50, good+len(failed))
			for _, err := range failed {
				requireOpError(t, err, "dial", errno)
			}
		})
	}
}

// An error that ends a connection is told to that one, once, and to nobody else; what
// the others have under way all arrives.
func TestAFaultStaysWithItsConnection(t *testing.T) {
	for _, c := range []struct {
		call  faults.Call
		errno syscall.Errno
		op    string
	}{
		{faults.Recv, syscall.ECONNRESET, "read"},
		{faults.Recv, syscall.ETIMEDOUT, "read"},
		{faults.Send, syscall.EPIPE, "write"},
		{faults.Send, syscall.ECONNRESET, "write"},
	} {
		fatal := map[string][]faults.Rule{c.op + " " + c.errno.Error(): {{Call: c.call, Errno: c.errno, Every: 23, Most: 10}}}
		underFaults(t, fatal, func(t *testing.T, backend string, workers int, plan *faults.Plan, faulty func(*conn.Config)) {
			const n = 60
			causes := make(chan error, 2*n)
			f := serve(t, backend, workers, funcs{data: echo, close: func(_ *conn.Conn, err error) {
				if err != nil {
					causes <- err
				}
			}}, faulty)
			var cut atomic.Int64
			f.each(n, func(i int, c net.Conn) error {
				r := rand.New(rand.NewPCG(uint64(i), 63))
				for range 4 {
					switch err := roundTrip(c, r, piece(r, 1+r.IntN(20<<10))); {
					case err == nil:
					case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
						cut.Add(1)
						return nil
					default:
						return err
					}
				}
				return nil
			})
			conntest.Eventually(t, func() bool { return f.Len() == 0 })
			injected := plan.Injected(c.call, c.errno)
			require.Positive(t, injected)
			require.LessOrEqual(t, int(cut.Load()), injected, "more were cut off than had errors")
			own := 0
			for range len(causes) {
				err := <-causes
				if errors.Is(err, c.errno) {
					requireOpError(t, err, c.op, c.errno)
					own++
				}
			}
			require.Equal(t, injected, own)
		})
	}
}

// Descriptors that epoll has no room or memory for are lost to their connections
// alone; the listener tries again.
func TestAFaultyRegistrationFailsAlone(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.ENOMEM, syscall.ENOSPC} {
		conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
			if backend != "epoll" {
				t.Skip("nothing is registered with", backend)
			}
			plan := conntest.Faults(t, faults.Rule{Call: faults.Control, Errno: errno, Most: 1, Every: 1},
				faults.Rule{Call: faults.Control, Errno: errno, Every: 4})
			ends, onClose := ends(100)
			f := serve(t, backend, workers, funcs{data: echo, close: onClose}, func(cfg *conn.Config) { faults.Into(&cfg.Reactor, plan) })
			good := 0
			for range 40 {
				c, err := net.Dial("tcp", f.addr.String())
				require.NoError(t, err)
				_, err = c.Write([]byte("hello"))
				if err == nil {
					_, err = io.ReadFull(c, make([]byte, 5))
				}
				_ = c.Close()
				switch cause := conntest.Receive(t, ends); {
				case err == nil && cause == nil:
					good++
				default:
					requireOpError(t, cause, "recv", errno)
				}
			}
			require.Positive(t, good)
			require.Equal(t, 40-good, plan.Injected(faults.Control, errno)-1)
			require.Equal(t, 1, f.log.Count("accept failed"))
		})
	}
}

// Sends of many calls each. Any call may be short, or fail with a temporary error.
func TestHugeMessagesComeBackUnderFaults(t *testing.T) {
	underFaults(t, passing, func(t *testing.T, backend string, workers int, plan *faults.Plan, faulty func(*conn.Config)) {
		f := serve(t, backend, workers, funcs{data: func(c *conn.Conn) error {
			if c.Buffered() < len(noise) {
				return nil
			}
			p, _ := c.Next(len(noise))
			_, err := c.Write(p)
			return err
		}}, faulty, func(cfg *conn.Config) { cfg.MaxRead = 2 << 20 })
		for round := 0; round == 0 || round < 100 && plan.Total() == 0; round++ { // few calls are made: the plan may have spared them
			f.each(3, func(i int, c net.Conn) error {
				return roundTrip(c, rand.New(rand.NewPCG(uint64(i), 1)), noise)
			})
		}
	})
}
