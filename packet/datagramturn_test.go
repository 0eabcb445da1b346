package packet_test

import (
	"context"
	"fmt"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// counted counts the polls of a future that have ended. After a poll a call that found nothing
// waits.
func counted[T any](polls *atomic.Int64, f sched.Future[T]) sched.Future[T] {
	return sched.FutureFunc[T](func(cx *sched.Context) (T, error) {
		defer polls.Add(1)
		return f.Poll(cx)
	})
}

// joined is the result of a task. A task that hangs fails the test.
func joined[T any](t *testing.T, h *sched.JoinHandle[T]) (T, error) {
	ctx, cancel := context.WithTimeout(t.Context(), conntest.Patience)
	defer cancel()
	return h.Wait(ctx)
}

// waits spawns a task that receives one datagram and returns once the task waits.
func waits(t *testing.T, f *fixture, polls *atomic.Int64, s *packet.UDPSocket) *sched.JoinHandle[int] {
	t.Helper()
	before := polls.Load()
	h := sched.Spawn(f.Runtime(), counted(polls, s.RecvFuture(make([]byte, 10))))
	conntest.Eventually(t, func() bool { return polls.Load() > before })
	return h
}

// A thundering herd of 20 would cost 20 polls for the first datagram alone.
func TestADatagramWakesOneOfTheTasksThatWait(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		s := listenTaskUDP(t, f)
		c := udpClient(t, s.LocalAddr())
		var polls atomic.Int64
		var all []*sched.JoinHandle[int]
		const tasks = 20
		for range tasks {
			all = append(all, waits(t, f, &polls, s))
		}
		before := polls.Load()
		for _, h := range all {
			_, err := c.Write([]byte("x"))
			require.NoError(t, err)
			n, err := joined(t, h) // first come, first served
			require.NoError(t, err)
			require.Equal(t, 1, n)
		}
		require.Less(t, polls.Load()-before, int64(3*tasks))
	})
}

// A task that is woken for a datagram and gives up leaves it to the next one.
func TestAWokenReceiveThatIsDroppedPassesItsTurnOn(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		s := listenTaskUDP(t, f)
		c := udpClient(t, s.LocalAddr())
		for range 20 {
			recv, polled := s.RecvFuture(make([]byte, 10)), false
			var polls atomic.Int64
			quits := sched.Spawn(f.Runtime(), counted(&polls, sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
				if !polled {
					polled = true
					return recv.Poll(cx)
				}
				recv.(sched.Canceler).Cancel()
				return 0, nil
			})))
			conntest.Eventually(t, func() bool { return polls.Load() >= 1 })
			stays := waits(t, f, &polls, s)
			_, err := c.Write([]byte("x"))
			require.NoError(t, err)
			n, err := joined(t, stays)
			require.NoError(t, err)
			require.Equal(t, 1, n)
			_, err = joined(t, quits)
			require.NoError(t, err)
		}
	})
}

// The task that receives the first of several datagrams wakes the next task.
func TestSeveralDatagramsWakeAsManyTasks(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		s := listenTaskUDP(t, f)
		c := dialTaskUDP(t, f, s.LocalAddr())
		const tasks = 8
		var ends []<-chan error
		var polls atomic.Int64
		for i := range tasks {
			switch i % 4 {
			case 0:
				ends = append(ends, inTask(f, func(cx *sched.Context) error {
					_, err := s.RecvBatch(cx, make([]packet.Message[netip.AddrPort], 1))
					return err
				}))
			case 1:
				end := make(chan error, 1)
				ends = append(ends, end)
				go func() {
					_, err := s.RecvBatch(t.Context(), make([]packet.Message[netip.AddrPort], 1))
					end <- err
				}()
			case 2:
				end, h := make(chan error, 1), waits(t, f, &polls, s)
				ends = append(ends, end)
				go func() { _, err := joined(t, h); end <- err }()
			default:
				ends = append(ends, inTask(f, func(cx *sched.Context) error { _, _, err := s.RecvFrom(cx, make([]byte, 1)); return err }))
			}
		}
		ms := make([]packet.Message[netip.AddrPort], tasks)
		n, err := c.SendBatch(t.Context(), ms)
		require.NoError(t, err)
		require.Equal(t, tasks, n)
		for _, end := range ends {
			require.NoError(t, conntest.Receive(t, end))
		}
	})
}

// Receives time out or are dropped at any moment. They leave each datagram to the receive that
// stays.
func TestDroppedReceivesLoseNoWakeUp(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		s := listenTaskUDP(t, f)
		c := udpClient(t, s.LocalAddr())
		got := make(chan string, 1)
		receive := func(cx *sched.Context, future sched.Future[int], p []byte) error {
			n, err := sched.Await(cx, future)
			if err == nil {
				got <- string(p[:n])
			}
			return err
		}
		var ends []<-chan error
		for i := range 4 {
			ends = append(ends, inTask(f, func(cx *sched.Context) error {
				p := make([]byte, 10)
				for {
					future := s.RecvFuture(p)
					if i > 0 {
						future = sched.Timeout(time.Duration(i)*50*time.Microsecond, future)
					}
					if err := receive(cx, future, p); err != nil && err != sched.ErrTimeout {
						return nil
					}
				}
			}))
		}
		for i := range 200 {
			_, err := fmt.Fprint(c, i)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(i), conntest.Receive(t, got))
		}
		require.NoError(t, s.Close())
		for _, end := range ends {
			require.NoError(t, conntest.Receive(t, end))
		}
	})
}
