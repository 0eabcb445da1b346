package chanx

import (
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/cpu"

	"github.com/suiro-go/suiro/internal/list"
	"github.com/suiro-go/suiro/sched"
)

// A bounded is what the handles of a bounded channel share.
//
// Whoever waits for a value is only told that there may be one, and tries again: a
// receiver that is cancelled has taken nothing. Whoever waits for room is given a
// permit, in the order they came, and puts its value in itself when it runs: a sender
// that is cancelled has sent nothing, and gives the permit to the next. While any
// wait, those that come do not overtake them.
//
// No wake-up is lost (see waitQueue for the order of the steps):
//
//   - While a receiver waits and the first value is there, somebody has yet to look at
//     the receivers: the producer that has put it in; a receiver that was told and has
//     not tried yet, or has been cancelled; or the consumer of the value before it,
//     because each looks, when it has taken one, whether there is another.
//   - While a sender waits and there is room, somebody has yet to look at the senders:
//     the consumer that made it, who gave a permit back, or a sender that has just
//     begun to wait.
type bounded[T any] struct {
	ring ring[T]
	_    [2]cpu.CacheLinePad

	senders   waitQueue // wait for room
	_         [2]cpu.CacheLinePad
	receivers waitQueue // wait for a value
	_         [2]cpu.CacheLinePad

	sending, receiving atomic.Int64 // handles

	sends, sendBatches, receives, batches, reserves sync.Pool // futures that are not in use
}

// NewBounded makes a channel that holds up to capacity values, and the first handle of
// each side. Any number of tasks and goroutines may use a handle at once.
//
// The capacity is at least 1 and at most 2,097,152; it panics otherwise. It is exact;
// the memory is that of the next power of two, at once, with 8 bytes beside each value.
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

// send is the try that every form of sending begins with.
func (c *bounded[T]) send(cx *sched.Context, v T) outcome {
	if c.senders.some() {
		return full // its turn comes after theirs; a channel that has closed has none
	}
	is := c.ring.push(v)
	if is == done && c.receivers.some() {
		c.receivers.wakeOne(cx)
	}
	return is
}

// sendMany is send for as many of vs, which is not empty, as there is room for. One
// receiver is told: it looks whether there is more when it has taken the first value.
func (c *bounded[T]) sendMany(cx *sched.Context, vs []T) (int, outcome) {
	if c.senders.some() {
		return 0, full
	}
	n, is := c.ring.pushMany(vs)
	if is == done && c.receivers.some() {
		c.receivers.wakeOne(cx)
	}
	return n, is
}

// sendReserved uses a permit up.
func (c *bounded[T]) sendReserved(cx *sched.Context, v T) error {
	if c.ring.pushReserved(v) == closed {
		return ErrClosed
	}
	if c.receivers.some() {
		c.receivers.wakeOne(cx)
	}
	return nil
}

// reserve is the try that every form of reserving begins with.
func (c *bounded[T]) reserve() outcome {
	if c.senders.some() {
		return full
	}
	return c.ring.reserve()
}

// unreserve gives a permit back: to the next that waits, if any. If the channel has
// closed, receivers may have waited for what the permit's holder would send.
func (c *bounded[T]) unreserve(cx *sched.Context) {
	c.ring.release()
	if c.senders.some() {
		c.grant(cx, nil)
	}
	c.passOn(cx)
}

// received is what a consumer does that has taken something out, and is itself not
// among the receivers that wait.
func (c *bounded[T]) received(cx *sched.Context) {
	if c.senders.some() {
		c.grant(cx, nil)
	}
	c.passOn(cx)
}

// passOn tells a receiver that waits if it need not.
func (c *bounded[T]) passOn(cx *sched.Context) {
	if c.receivers.some() && c.ring.due() {
		c.receivers.wakeOne(cx)
	}
}

// grant gives permits to those that wait, in their order, while there is room. If
// newcomer is not nil, it begins to wait first, or goes on to with that waker, unless its
// wait has just come to its end; it is not woken.
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
			state := uint32(told)
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

// decided reports whether it was given a permit, or refused one, before the lock was
// taken.
func (s *newSender) decided() bool {
	is := s.node.Value.state.Load()
	return is == told || is == refused
}

// stop has no more values go in, but those of permits.
func (c *bounded[T]) stop(flags uint64) {
	if !c.ring.close(flags) {
		return
	}
	c.senders.wakeAll(nil, refused)
	c.receivers.wakeAll(nil, told)
}

// discard takes out what nobody will receive, so that it is not kept.
func (c *bounded[T]) discard() {
	for is := done; is == done; {
		_, is = c.ring.pop()
	}
}

// take is a future of the pool, or a new one.
func take[F any](pool *sync.Pool) *F {
	if f, ok := pool.Get().(*F); ok {
		return f
	}
	return new(F)
}
