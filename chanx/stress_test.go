//go:build !explore

package chanx_test

import (
	"context"
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

// sendSomehow sends a value by one of the methods that may give up.
func (l *record) sendSomehow(ctx context.Context, random *rand.Rand, tx *chanx.Sender[int], v int) {
	f := tx.SendFuture(v)
	var err error
	switch random.IntN(7) {
	case 0:
		l.send(v, tx.Send(ctx, v))
		return
	case 1:
		ctx, cancel := context.WithTimeout(ctx, time.Duration(random.IntN(100))*time.Microsecond)
		l.send(v, tx.Send(ctx, v))
		cancel()
		return
	case 2:
		l.send(v, tx.TrySend(v))
		return
	case 3:
		l.reserveSomehow(ctx, random, tx, v)
		return
	case 4:
		d := time.Duration(random.IntN(2)) * time.Millisecond
		_, err = sched.Await(ctx, sched.Timeout(d, f))
	case 5: // together with a future that is often ready
		other := sched.Yield()
		if random.IntN(3) == 0 {
			other = sched.Sleep(time.Millisecond)
		}
		sel, aborted := sched.Await(ctx, sched.Select(f, other))
		if err = aborted; aborted == nil && sel.Index == 1 {
			err = errNotYet
		} else if aborted == nil {
			err = sel.Err
		}
	default:
		_, err = sched.Await(ctx, once(f))
		if err == errNotYet {
			f.(sched.Canceler).Cancel()
		}
	}
	l.send(v, err)
}

func (l *record) reserveSomehow(ctx context.Context, random *rand.Rand, tx *chanx.Sender[int], v int) {
	p, err := sched.Await(ctx, sched.Timeout(time.Millisecond, tx.ReserveFuture()))
	switch {
	case err != nil:
	case random.IntN(3) == 0:
		p.Release()
		err = errNotYet
	default:
		err = p.Send(ctx, v)
	}
	l.send(v, err)
}

// receiveSomehow receives by one of the methods that may give up. false: the channel is closed.
func (l *record) receiveSomehow(ctx context.Context, random *rand.Rand, rx *chanx.Receiver[int]) bool {
	buf, n := make([]int, 3), 1
	var err error
	soon, cancel := context.WithTimeout(ctx, time.Duration(random.IntN(100))*time.Microsecond)
	defer cancel()
	switch random.IntN(6) {
	case 0:
		buf[0], err = rx.Recv(ctx)
	case 1:
		buf[0], err = rx.Recv(soon)
	case 2:
		buf[0], err = rx.TryRecv()
	case 3:
		buf[0], err = sched.Await(ctx, sched.Timeout(time.Millisecond, rx.RecvFuture()))
	case 4:
		sel, aborted := sched.Await(ctx, sched.Select(sched.Any(rx.RecvFuture()), sched.Any(sched.Yield())))
		if err = aborted; aborted == nil {
			if err = sel.Err; sel.Index == 1 {
				err = errNotYet
			} else if err == nil {
				buf[0] = sel.Value.(int)
			}
		}
	default:
		n, err = rx.RecvMany(soon, buf)
	}
	if err == nil {
		for _, v := range buf[:n] {
			l.receive(v)
		}
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
			sending = append(sending, c.do(func(ctx context.Context) error {
				random := rand.New(rand.NewPCG(seed, uint64(i)))
				for n := range each {
					l.sendSomehow(ctx, random, tx, i*each+n)
				}
				return nil
			}))
			receiving = append(receiving, c.do(func(ctx context.Context) error {
				random := rand.New(rand.NewPCG(seed, uint64(100+i)))
				for l.receiveSomehow(ctx, random, rx) {
				}
				return nil
			}))
		}
		// Others are aborted at random times.
		random := rand.New(rand.NewPCG(seed, 200))
		for i := range each {
			v := workers*each + i
			doomed := c.do(func(ctx context.Context) error { l.send(v, tx.Send(ctx, v)); return nil })
			other := c.do(func(ctx context.Context) error {
				if v, err := rx.Recv(ctx); err == nil {
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
		for _, p := range reserveAll(t, tx, capacity) { // no slot was lost
			p.Release()
		}
		tx.Close()
		allDone(t, receiving)
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
