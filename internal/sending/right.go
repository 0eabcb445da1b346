package sending

import "github.com/suiro-go/suiro/internal/atomics"

// The word of a Right:
//
//	bits 0-1   the holder
//	bit  2     Queued: something queued must leave before the bytes of any other caller
//	bit  3     tell: the task must run when the holder gives the right up
//	bit  4     Waits: a goroutine waits for room in the queue
//	bit  5     barred: callers other than the task get no right
//	bit  6     closed: nobody gets the right any more
//	bit  7     Failed: a call failed, and the peer may have received a part of its bytes
//	bits 8-63  the bytes sent, modulo 2^56
//
// "The task" is the connection's own task, the one that works the queue. "The
// lock" is the connection's mutex, which guards the queue's entrance.
//
// Invariants:
//
//  1. There is one holder at a time. Only the holder calls the kernel to send, or
//     submits an operation that sends. The task shuts down the write side once Bar
//     has reported nobody.
//  2. The byte count grows only while the right is held. So the order of holders
//     is the order of bytes.
//  3. If Queued is set, the task will look at the queue. Either it runs, or it is
//     woken after Queued was set, or an Operation or Room is the holder and tell
//     is set.
//  4. Only the task clears Queued, under the lock, when the queue's entrance is
//     empty and the task has nothing left.
//  5. No end of a hold is missed. A caller who needs to hear of the end changes
//     the word with a compare-and-swap. Either it finds a holder, whose GiveUp
//     comes later and reports tell; or it finds none, and goes on itself. The
//     same holds for Waits, Bar and Close.
//  6. A descriptor outlives its users. After Close, Try and Take fail; the last
//     holder's GiveUp reports tell. The task closes the descriptor when Close
//     has reported Nobody.
//  7. GiveUp reports the bits from before it. A caller that sets Waits with its
//     own GiveUp is told by a later one.
//  8. Waits is set only together with Queued or a holder. So Try succeeds only
//     when nobody waits.
//  9. An operation that ended before all was sent still holds the right, until
//     the rest was sent or dropped.
const (
	holders = 1<<2 - 1

	// Queued says that something must leave before the bytes of any other caller.
	Queued = 1 << 2
	// Waits says that a goroutine waits for room in the queue.
	Waits = 1 << 4
	// Failed says that a call failed, and the peer may have received a part of
	// its bytes.
	Failed = 1 << 7

	tell   = 1 << 3
	barred = 1 << 5
	closed = 1 << 6

	oneByte = 1 << 8

	// each of them keeps a caller other than the task from the right
	taken = holders | Queued | barred | closed
)

// A Holder names the holder of the right.
type Holder uint64

// The holders.
const (
	Nobody    Holder = iota
	Call             // a system call, of any goroutine
	Operation        // an operation of the reactor
	Room             // the wait for the socket to have room
)

// A Right is the right to send on one connection. Its zero value is held by
// nobody. The methods in this file are for any goroutine, those in task.go for
// the task alone. ARCHITECTURE ("The way of the bytes out") lists the senders.
type Right struct{ word atomics.Uint64 }

// Told names the waiters that the caller of GiveUp must wake.
type Told struct {
	Task   bool // it must be woken
	Waiter bool // the goroutine that waits for room
}

// Try takes the right for a call, unless it is held or something is queued.
func (r *Right) Try() bool {
	for {
		old := r.word.Load()
		if old&taken != 0 {
			return false
		}
		if r.word.CompareAndSwap(old, old|uint64(Call)) {
			return true
		}
	}
}

// GiveUp ends the caller's hold, in which n bytes were sent. It sets the bits leave: Queued, Waits
// or Failed. If leave has Queued or Waits, the caller must wake the task after this.
func (r *Right) GiveUp(n int, leave uint64) Told {
	for {
		old := r.word.Load()
		next := old&^(holders|tell|Waits) | leave
		if r.word.CompareAndSwap(old, next+uint64(n)*oneByte) {
			return Told{Task: old&tell != 0, Waiter: old&Waits != 0}
		}
	}
}

// Took counts n bytes as sent. The holder goes on.
func (r *Right) Took(n int) { r.word.Add(uint64(n) * oneByte) }

// Pass makes a Call of the caller's another hold. A caller other than the task
// holds the lock from Try until it has noted what the operation sends, so that
// the lock's next owner finds both.
func (r *Right) Pass(to Holder) { r.word.Add(uint64(to - Call)) }

// Queue notes that something is in the queue, and with Waits that a goroutine
// waits for room. The lock is held, under which it was queued; the running task
// may queue its own without the lock. The result tells whether the task must be
// woken after the lock is released; otherwise the task runs when the hold ends.
func (r *Right) Queue(wait uint64) (wake bool) {
	for {
		old := r.word.Load()
		next := old | Queued | wait
		wake = Holder(old&holders) < Operation
		if !wake {
			next |= tell
		}
		if next == old || r.word.CompareAndSwap(old, next) {
			return wake
		}
	}
}

// Holder is the holder of the right.
func (r *Right) Holder() Holder { return Holder(r.word.Load() & holders) }

// Sent is the number of bytes sent, modulo 2^56.
func (r *Right) Sent() uint64 { return r.word.Load() / oneByte }

// IsQueued reports whether Queued is set.
func (r *Right) IsQueued() bool { return r.word.Load()&Queued != 0 }

// HasFailed reports whether Failed is set.
func (r *Right) HasFailed() bool { return r.word.Load()&Failed != 0 }

// Tells reports whether the task will run when the hold ends: for dumps of the state.
func (r *Right) Tells() bool { return r.word.Load()&tell != 0 }
