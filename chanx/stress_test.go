//go:build !explore

package chanx_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/chanx"
	"github.com/suiro-go/suiro/sched"
)

// A record records the sent and received values.
type record struct {
	mu       sync.Mutex
	sent     map[int]bool // false: reported unsent
	received map[int]int
	faults   []string
}

func (l *record) send(v int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent[v] = err == nil
}

func (l *record) receive(v int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.received[v]++
}

func (l *record) fault(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, fmt.Sprintf(format, args...))
}

// sendSomehow sends a value by one of the methods that may give up.
func (l *record) sendSomehow(e env, random *rand.Rand, tx *chanx.Sender[int], v int) {
	f := tx.SendFuture(v)
	var err error
	switch way := random.IntN(5); {
	case way == 0 && e.cx != nil:
		err = tx.Send(e.cx, v)
		l.send(v, err)
		return
	case way == 0:
		ctx, cancel := context.WithTimeout(e.ctx, time.Duration(random.IntN(100))*time.Microsecond)
		err = tx.Send(ctx, v)
		cancel()
		l.send(v, err)
		return
	case way == 1:
		l.send(v, tx.TrySend(v))
		return
	case way == 2:
		l.reserveSomehow(e, random, tx, v)
		return
	case way == 3 && e.cx != nil:
		d := time.Duration(random.IntN(2)) * time.Millisecond
		_, err = await(e, sched.Timeout(d, sched.Future[struct{}](f)))
	case e.cx != nil: // together with a future that is often ready
		other := sched.Yield()
		if random.IntN(3) == 0 {
			other = sched.Sleep(time.Millisecond)
		}
		sel, aborted := await(e, sched.Select(sched.Future[struct{}](f), other))
		if err = aborted; aborted == nil && sel.Index == 1 {
			err = errNotYet
		} else if aborted == nil {
			err = sel.Err
		}
	default:
		_, err = await(e, once[struct{}](f))
		if err == errNotYet {
			f.Cancel()
		}
	}
	if _, unsent := f.Unsent(); unsent != (err != nil) {
		l.fault("value %d: unsent is %v, the error %v", v, unsent, err)
	}
	l.send(v, err)
}

func (l *record) reserveSomehow(e env, random *rand.Rand, tx *chanx.Sender[int], v int) {
	var p chanx.Permit[int]
	var err error
	if e.cx != nil {
		p, err = await(e, sched.Timeout(time.Millisecond, tx.ReserveFuture()))
	} else {
		p, err = tx.TryReserve()
	}
	switch {
	case err != nil:
	case random.IntN(3) == 0:
		p.Release()
		err = errNotYet
	default:
		err = p.Send(e.cx, v)
	}
	l.send(v, err)
}

// receiveSomehow receives by one of the methods that may give up. false: the channel is closed.
func (l *record) receiveSomehow(e env, random *rand.Rand, rx *chanx.Receiver[int]) bool {
	var v int
	var err error
	switch way := random.IntN(4); {
	case way == 0 && e.cx != nil:
		v, err = rx.Recv(e.cx)
	case way == 0:
		ctx, cancel := context.WithTimeout(e.ctx, time.Duration(random.IntN(100))*time.Microsecond)
		v, err = rx.Recv(ctx)
		cancel()
	case way == 1:
		v, err = rx.TryRecv()
	case way == 2 && e.cx != nil:
		v, err = await(e, sched.Timeout(time.Millisecond, rx.RecvFuture()))
	case e.cx != nil:
		sel, aborted := await(e, sched.Select(sched.Any(rx.RecvFuture()), sched.Any(sched.Yield())))
		if err = aborted; aborted == nil {
			if err = sel.Err; sel.Index == 1 {
				err = errNotYet
			} else if err == nil {
				v = sel.Value.(int)
			}
		}
	default:
		buf := make([]int, 3)
		ctx, cancel := context.WithTimeout(e.ctx, time.Duration(random.IntN(100))*time.Microsecond)
		n, err := rx.RecvMany(ctx, buf)
		cancel()
		for _, v := range buf[:n] {
			l.receive(v)
		}
		return err != chanx.ErrClosed
	}
	if err == nil {
		l.receive(v)
	}
	return err != chanx.ErrClosed
}

// Senders and receivers give up while they wait. Each sent value is received once, no value that
// was reported unsent is received, and no slot is lost.
func TestNothingIsLostToThoseThatGiveUp(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	onEach(t, func(t *testing.T, c *crew) {
		const capacity, workers = 3, 4
		each := rounds(1500)
		tx, rx := chanx.NewBounded[int](capacity)
		l := &record{sent: map[int]bool{}, received: map[int]int{}}
		var sending, receiving []*job
		for i := range workers {
			sending = append(sending, c.do(func(e env) error {
				random := rand.New(rand.NewPCG(seed, uint64(i)))
				for n := range each {
					l.sendSomehow(e, random, tx, i*each+n)
				}
				return nil
			}))
			receiving = append(receiving, c.do(func(e env) error {
				random := rand.New(rand.NewPCG(seed, uint64(100+i)))
				for l.receiveSomehow(e, random, rx) {
				}
				return nil
			}))
		}
		// Others are aborted at random times.
		random := rand.New(rand.NewPCG(seed, 200))
		for i := range each {
			v := workers*each + i
			doomed := c.do(func(e env) error { l.send(v, send(e, tx, v)); return nil })
			other := c.do(func(e env) error {
				if v, err := recv(e, rx); err == nil {
					l.receive(v)
				}
				return nil
			})
			if random.IntN(2) == 0 {
				time.Sleep(time.Duration(random.IntN(50)) * time.Microsecond)
			}
			doomed.abort()
			other.abort()
			_, _ = doomed.wait(), other.wait()
		}
		allDone(t, sending)
		tx.Close()
		allDone(t, receiving)
		require.Empty(t, l.faults)
		for v, sent := range l.sent {
			want := 0
			if sent {
				want = 1
			}
			if l.received[v] != want {
				t.Fatalf("value %d, sent: %v, was received %d times", v, sent, l.received[v])
			}
			delete(l.received, v)
		}
		require.Empty(t, l.received, "of aborted tasks")
	})
}

func TestNoSlotIsLostToThoseThatGiveUp(t *testing.T) {
	onEach(t, func(t *testing.T, c *crew) {
		const capacity = 3
		tx, rx := chanx.NewBounded[int](capacity)
		l := &record{sent: map[int]bool{}, received: map[int]int{}}
		var jobs []*job
		for i := range 4 {
			jobs = append(jobs, c.do(func(e env) error {
				random := rand.New(rand.NewPCG(1, uint64(i)))
				for n := range rounds(2000) {
					l.sendSomehow(e, random, tx, n)
					if _, err := rx.TryRecv(); err != nil && err != chanx.ErrEmpty {
						return err
					}
				}
				return nil
			}))
		}
		// One of the four may wait without end, because nobody is left to receive.
		quit := make(chan struct{})
		var drain sync.WaitGroup
		drain.Go(func() {
			for {
				select {
				case <-quit:
					return
				default:
					_, _ = rx.TryRecv()
					time.Sleep(10 * time.Microsecond)
				}
			}
		})
		allDone(t, jobs)
		close(quit)
		drain.Wait()
		for _, err := rx.TryRecv(); err == nil; _, err = rx.TryRecv() {
		}
		require.Zero(t, tx.Waiting())
		for range capacity {
			require.NoError(t, tx.TrySend(1))
		}
		require.Equal(t, chanx.ErrFull, tx.TrySend(1))
	})
}
