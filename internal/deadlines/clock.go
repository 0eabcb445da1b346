package deadlines

import (
	"iter"
	"time"

	"github.com/suiro-go/suiro/internal/saturate"
)

// A Kind names a deadline.
type Kind uint8

// The deadlines, in the order in which those that have passed are dealt with.
const (
	Connect Kind = iota // the connection must be established
	Attempt             // another attempt to connect may be due; a wake-up is enough
	Linger              // a closed connection has waited for its peer: see Lingered
	Look                // the peer may have acknowledged all: see ResetAtEnd; a wake-up is enough
	Read
	Write
	Stall // the peer may have taken nothing for too long: see Stuck
	Idle  // nothing may have come or gone for too long: see Inactive
	kinds
)

// A Clock is the deadlines of one connection. It is for one goroutine at a time.
type Clock struct {
	Patience time.Duration // how long Close waits; 0: the default; negative: it resets

	at   [kinds]time.Duration
	idle time.Duration // how long nothing may come or go; 0: for any time
	gone Outflow       // when something last came, or was seen to have gone
	left Outflow       // when the stall began, or the unsent bytes were last seen to get fewer

	parting  Outflow       // when lingering began
	farewell time.Duration // with Shorten: when lingering is over altogether
	dropped  int           // bytes that arrived after Close
	heard    int           // dropped at the time of Shorten
	pause    time.Duration // before the next look
	resets   bool          // see ResetAtEnd
}

// An Outflow says how far the output has got at one moment.
type Outflow struct {
	Taken uint64 // bytes that the kernel has taken
	Kept  int    // bytes among them that it still keeps for the peer
}

// MovedSince reports whether the peer has taken something since before. Bytes that the kernel has
// taken count as well: it takes more only when there is room again. Before an operation in flight
// ends, the kernel may have taken more than Taken says, which makes Kept larger, but not smaller.
func (o Outflow) MovedSince(before Outflow) bool {
	return o.Taken != before.Taken || o.Kept < before.Kept
}

// Set sets a deadline; 0 takes it back.
func (k *Clock) Set(what Kind, at time.Duration) { k.at[what] = at }

// At is a deadline; 0: there is none.
func (k *Clock) At(what Kind) time.Duration { return k.at[what] }

// Reset takes back the deadlines that a handler sets.
func (k *Clock) Reset() { k.at[Read], k.at[Write], k.at[Idle], k.idle = 0, 0, 0, 0 }

// Next is the earliest deadline; 0: there is none.
func (k *Clock) Next() (first time.Duration) {
	for _, at := range k.at {
		if at != 0 && (first == 0 || at < first) {
			first = at
		}
	}
	return first
}

// Due are the deadlines that have passed, each as it is when its turn comes: to deal with one may
// change the others. Each is taken back; to deal with Stall or Idle is to set it again.
func (k *Clock) Due(now time.Duration) iter.Seq[Kind] {
	return func(yield func(Kind) bool) {
		for what := range kinds {
			if at := k.at[what]; at == 0 || now < at {
				continue
			}
			k.at[what] = 0
			if !yield(what) {
				return
			}
		}
	}
}

// SetIdle bounds for how long nothing may come or go, from now on; 0: no bound.
func (k *Clock) SetIdle(d, now time.Duration, flow Outflow) {
	k.idle, k.at[Idle] = d, 0
	k.Came(now)
	k.gone = flow
}

// Idles reports whether there is a bound, so that Came must be called when bytes arrive.
func (k *Clock) Idles() bool { return k.idle > 0 }

// Came notes that something has come.
func (k *Clock) Came(now time.Duration) {
	if k.idle > 0 {
		k.at[Idle] = saturate.Add(now, k.idle)
	}
}

// Inactive reports, when Idle is due, whether nothing has gone in the meantime either.
func (k *Clock) Inactive(now time.Duration, flow Outflow) bool {
	if !flow.MovedSince(k.gone) {
		return true
	}
	k.gone = flow
	k.Came(now)
	return false
}

// Stalls reports whether something was unsent when the clock was last told.
func (k *Clock) Stalls() bool { return k.at[Stall] != 0 }

// Unsent notes that something is unsent: the peer has to take some of it within limit.
func (k *Clock) Unsent(now, limit time.Duration, flow Outflow) {
	k.at[Stall], k.left = saturate.Add(now, limit), flow
}

// Stuck reports, when Stall is due and something is still unsent, whether the peer has taken
// nothing in the meantime. If it has, limit begins anew.
func (k *Clock) Stuck(now, limit time.Duration, flow Outflow) bool {
	if !flow.MovedSince(k.left) {
		return true
	}
	k.Unsent(now, limit, flow)
	return false
}
