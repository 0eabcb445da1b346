package chanx

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/cpu"

	"github.com/suiro-go/suiro/internal/list"
	"github.com/suiro-go/suiro/sched"
)

// A bounded is the state that the handles of a bounded channel share.
//
// A waiting receiver only learns that there may be a value, and tries again: a canceled receiver
// has taken nothing. A sender that waits for room is given a permit, in the order of arrival. It
// puts its value in when it runs. A canceled sender has sent nothing, and passes its permit to the
// next one. While senders wait, later senders do not overtake them.
//
// No wake-up is lost (see waitQueue for the order of the steps):
//
//   - While a receiver waits and the first value is available, one party has yet to check the
//     receivers. It is the producer of the value; or a receiver that was woken and has not tried
//     yet, or was canceled; or the consumer of the value before. Each consumer checks for another
//     value after its own.
//   - While a sender waits and there is room, one party has yet to check the senders. It is the
//     consumer that made the room, a task that gave a permit back, or a sender that has just begun
//     to wait.
type bounded[T any] struct {
	ring ring[T]
	_    [2]cpu.CacheLinePad

	senders   waitQueue // wait for room
	_         [2]cpu.CacheLinePad
	receivers waitQueue // wait for a value
	_         [2]cpu.CacheLinePad

	closers waitQueue // senders that wait until nobody receives any more

	sending, receiving atomic.Int64 // numbers of handles

	sends, receives, batches, reserves sync.Pool // unused futures
}

// NewBounded makes a channel that holds up to capacity values. It returns the first handle of each
// side. Any number of tasks and goroutines may use a handle concurrently.
//
// The capacity must be between 1 and 2,097,152; otherwise NewBounded panics. It is exact. The
// memory for the next power of two is allocated at once, with 8 bytes for each value besides its
// size.
func NewBounded[T any](capacity int) (*Sender[T], *Receiver[T]) {
	if capacity < 1 || capacity > maxCapacity {
		panic(fmt.Sprintf("chanx: NewBounded: capacity %d is not between 1 and %d", capacity, maxCapacity))
	}
	c := new(bounded[T])
	c.ring.init(capacity)
	c.sending.Store(1)
	c.receiving.Store(1)
	return &Sender[T]{ch: c}, &Receiver[T]{ch: c}
}

// send is the first attempt of every form of sending.
func (c *bounded[T]) send(cx *sched.Context, v T) outcome {
	if c.senders.some() {
		return full // the waiting senders go first; in a closed channel there are none
	}
	is := c.ring.push(v)
	if is == done && c.receivers.some() {
		c.receivers.wakeOne(cx)
	}
	return is
}

// sendReserved uses up a permit.
func (c *bounded[T]) sendReserved(ctx context.Context, v T) error {
	if c.ring.pushReserved(v) == closed {
		return ErrClosed
	}
	if c.receivers.some() {
		c.receivers.wakeOne(sched.FromContext(ctx))
	}
	return nil
}

// reserve is the first attempt of every form of reserving.
func (c *bounded[T]) reserve() outcome {
	if c.senders.some() {
		return full
	}
	return c.ring.reserve()
}

// unreserve gives back a permit, to the next waiting sender if there is one. If the channel is
// closed, receivers may have waited for the permit's value.
func (c *bounded[T]) unreserve(cx *sched.Context) {
	c.ring.release()
	if c.senders.some() {
		c.grant(cx, nil)
	}
	c.passOn(cx)
}

// received is called by a consumer that has taken a value and is not among the waiting receivers.
func (c *bounded[T]) received(cx *sched.Context) {
	if c.senders.some() {
		c.grant(cx, nil)
	}
	c.passOn(cx)
}

// passOn wakes a waiting receiver if it need not wait.
func (c *bounded[T]) passOn(cx *sched.Context) {
	if c.receivers.some() && c.ring.due() {
		c.receivers.wakeOne(cx)
	}
}

// grant gives permits to the waiting senders, in their order, while there is room. newcomer, if
// not nil, is first added to them, or its waker is updated, unless its wait has just ended. It is
// not woken.
func (c *bounded[T]) grant(cx *sched.Context, newcomer *newSender) {
	q := &c.senders
	var batch [list.Batch / 2]sched.Waker
	for more := true; more; {
		n := 0
		q.mu.Lock()
		if newcomer != nil && !newcomer.decided() {
			q.add(newcomer.node, newcomer.waker)
		}
		for more = false; q.list.Len() > 0; {
			if n == len(batch) {
				more = true
				break
			}
			state := uint32(woken)
			if is := c.ring.reserve(); is == full {
				break
			} else if is == closed {
				state = refused
			}
			own := newcomer != nil && q.list.Front() == newcomer.node
			if w, _ := q.take(state); !own {
				batch[n] = w
				n++
			}
		}
		q.mu.Unlock()
		newcomer = nil
		for _, w := range batch[:n] {
			wake(cx, w)
		}
	}
}

type newSender struct {
	node  *waiter
	waker sched.Waker
}

// decided reports whether the sender got a permit, or was refused one, before the lock was taken.
func (s *newSender) decided() bool {
	is := s.node.Value.state.Load()
	return is == woken || is == refused
}

// stop closes the channel for new values, except those of permits.
func (c *bounded[T]) stop(flags uint64) {
	if !c.ring.close(flags) {
		return
	}
	c.senders.wakeAll(nil, refused)
	c.receivers.wakeAll(nil, woken)
	c.closers.wakeAll(nil, woken)
}

// discard removes the values that nobody will receive, so that they can be freed. No more values go
// in. A value that is just being put in is removed once it is there.
func (c *bounded[T]) discard() {
	for spins, is := 0, done; is == done || is == busy; {
		if _, is = c.ring.pop(); is == busy {
			relax(spins)
			spins++
		}
	}
}

// take returns a future from the pool, or a new one.
func take[F any](pool *sync.Pool) *F {
	if f, ok := pool.Get().(*F); ok {
		return f
	}
	return new(F)
}
