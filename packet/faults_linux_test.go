package packet_test

import (
	"errors"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/reactor"
)

// Transient errors are not noticed: each datagram is answered, whole, once and in order.
func TestEveryDatagramIsAnsweredUnderFaults(t *testing.T) {
	for name, errno := range map[string]syscall.Errno{
		"interrupted": syscall.EINTR, "not ready after all": syscall.EAGAIN, "no buffers": syscall.ENOBUFS, "short": 0,
	} {
		rules := conntest.Fail(errno, 0.25, faults.RecvFrom, faults.Wait, faults.WakeRead)
		if errno != syscall.EINTR {
			rules = conntest.Fail(errno, 0.25, faults.RecvFrom)
		}
		underFaults(t, map[string][]faults.Rule{name: rules}, func(t *testing.T, backend string, workers int, plan *faults.Plan, faulty func(*conn.Config)) {
			if backend == "io_uring" && errno == 0 {
				t.Skip("io_uring receives datagrams singly")
			}
			answerAll(t, backend, workers, faulty)
		})
	}
	// The reactor handles these results of epoll's sends itself. An operation of io_uring has no
	// such results.
	for name, errno := range map[string]syscall.Errno{"interrupted": syscall.EINTR, "no room": syscall.EAGAIN, "short": 0} {
		t.Run("sending, "+name, func(t *testing.T) {
			conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
				if backend != "epoll" {
					t.Skip("an operation of io_uring has no such results")
				}
				plan := conntest.Faults(t, conntest.Fail(errno, 0.4, faults.SendTo)...)
				answerAll(t, backend, workers, func(cfg *conn.Config) { faults.Into(&cfg.Reactor, plan) })
				require.Positive(t, plan.Total())
			})
		})
	}
}

// answerAll sends bursts of datagrams to an echo, and checks the answers.
func answerAll(t *testing.T, backend string, workers int, faulty func(*conn.Config)) {
	t.Helper()
	f, lives := packetFixture(t, backend, workers, faulty)
	_, at := servePackets(t, f, &funcs{lives: lives, packets: echoPackets, fail: func(_ *packet.Conn, err error) error { return err }})
	conntest.Each(t, 6, func(int) error {
		c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(at))
		if err != nil {
			return err
		}
		defer c.Close()
		if err := c.SetDeadline(time.Now().Add(conntest.Patience)); err != nil {
			return err
		}
		back := make([]byte, 2048)
		for round := range 40 {
			const burst = 5
			for i := range burst {
				if _, err := c.Write(noise[i : i+100*round]); err != nil {
					return err
				}
			}
			for i := range burst {
				n, err := c.Read(back[:cap(back)])
				if err != nil {
					return err
				}
				if want := noise[i : i+min(100*round, len(back))]; string(back[:n]) != string(want) {
					return errors.New("another datagram than was to come")
				}
			}
		}
		return nil
	})
}

// If the kernel has no memory for a datagram, OnError is called once. The other datagrams arrive,
// and the socket goes on.
func TestADatagramThatCannotBeSentFailsAloneUnderFaults(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.ENOBUFS, syscall.ENOMEM, syscall.EPERM} {
		refused := map[string][]faults.Rule{errno.Error(): {{Call: faults.SendTo, Errno: errno, Every: 5}}}
		underFaults(t, refused, func(t *testing.T, backend string, workers int, plan *faults.Plan, faulty func(*conn.Config)) {
			var told atomic.Int64
			f, lives := packetFixture(t, backend, workers, faulty)
			_, at := servePackets(t, f, &funcs{lives: lives, packets: echoPackets, fail: func(_ *packet.Conn, err error) error {
				if !errors.Is(err, errno) {
					return err
				}
				told.Add(1)
				return nil
			}})
			c := udpClient(t, at)
			back := make([]byte, 100)
			for i := range 200 { // one after the other: a datagram without an answer was refused
				text := strings.Repeat("x", i%50)
				before := plan.Injected(faults.SendTo, errno)
				_, err := c.Write([]byte(text))
				require.NoError(t, err)
				answered := func() bool {
					require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Millisecond)))
					n, err := c.Read(back)
					if err == nil {
						require.Equal(t, text, string(back[:n]))
					}
					return err == nil
				}
				conntest.Eventually(t, func() bool { return answered() || plan.Injected(faults.SendTo, errno) > before })
			}
			conntest.Eventually(t, func() bool { return int(told.Load()) == plan.Injected(faults.SendTo, errno) })
			require.GreaterOrEqual(t, told.Load(), int64(30))
		})
	}
}

// underFaults runs f on every backend and number of workers, under each of the plans.
func underFaults(t *testing.T, rules map[string][]faults.Rule,
	f func(t *testing.T, backend string, workers int, plan *faults.Plan, faulty func(*conn.Config))) {
	for name, rules := range rules {
		t.Run(name, func(t *testing.T) {
			conntest.MatrixOf(t, []int{1, 2, 4}, func(t *testing.T, backend string, workers int) {
				rules := slices.Clone(rules)
				if backend == "io_uring" { // its system call has errors of its own, and hardly any others occur while nothing ends
					rules = append(rules, conntest.Fail(syscall.EBUSY, 0.05, faults.Wait)...)
					rules = append(rules, conntest.Fail(syscall.ENOMEM, 0.02, faults.Wait)...)
					rules = append(rules, conntest.Fail(syscall.ENOBUFS, 0.02, faults.Wait)...)
					rules = append(rules, conntest.Fail(0, 0.7, faults.Accept, faults.Recv)...)
				}
				plan := conntest.Faults(t, rules...)
				f(t, backend, workers, plan, func(cfg *conn.Config) {
					faults.Into(&cfg.Reactor, plan)
					if workers == 2 { // so that each datagram is an operation, which may fail
						cfg.Reactor.Without = []reactor.Feature{reactor.FeatureMultishotAccept, reactor.FeatureMultishotRecv}
					}
				})
				require.Positive(t, plan.Total(), "%v", plan)
			})
		})
	}
}
