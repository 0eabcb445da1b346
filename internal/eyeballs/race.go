package eyeballs

import (
	"cmp"
	"net"
	"slices"
	"time"

	"github.com/suiro-go/suiro/internal/saturate"
)

const (
	defaultDelay = 250 * time.Millisecond // RFC 8305, section 8
	minDelay     = 10 * time.Millisecond  // RFC 8305, section 8
	minAttempt   = 2 * time.Second        // as in package net
)

// A Race is the attempts to connect to the addresses of one peer. After each event the caller
// begins the addresses that Next returns, and gives up attempts that are Overdue. Then it asks Lost
// whether there is an end without a winner, and comes back at the time that Wake returns. A Race
// must not be used from two goroutines at a time.
//
// All times count from one moment that the caller chooses.
type Race struct {
	delay  time.Duration // between the beginnings of attempts; negative: one after the other
	source net.Addr      // for errors
	known  bool          // all addresses are
	left   []net.Addr    // not tried yet
	live   []*Attempt
	failed []error
	next   time.Duration // when another attempt begins beside those that are live
}

// An Attempt is the race's part of an attempt to connect. The zero value is not live.
type Attempt struct {
	live  bool
	until time.Duration // 0: as long as the race goes on
}

// New makes a race between addresses. delay is the time between attempts while none has failed: 0
// means 250 ms, and less than 10 ms means 10 ms. If delay is negative, an attempt begins when the
// one before has failed, and gets a share of the remaining time. finding: Found will bring more
// addresses. source is the local address in errors.
func New(addrs []net.Addr, delay time.Duration, finding bool, source net.Addr) *Race {
	if delay >= 0 {
		delay = max(minDelay, cmp.Or(delay, defaultDelay))
	}
	return &Race{delay: delay, source: source, known: !finding, left: slices.Clone(addrs)}
}

// Found brings all addresses, in the place of those that were not tried yet. It reports
// whether they were awaited: a second answer changes nothing.
func (r *Race) Found(addrs []net.Addr) bool {
	if r.known {
		return false
	}
	r.known, r.left = true, slices.Clone(addrs)
	return true
}

// Next takes the next address that an attempt is to begin for. false: there is none now.
func (r *Race) Next(now time.Duration) (net.Addr, bool) {
	if len(r.left) == 0 || len(r.live) > 0 && (r.delay < 0 || now < r.next) {
		return nil, false
	}
	addr := r.left[0]
	r.left = r.left[1:]
	return addr, true
}

// Begun notes an attempt to the last address of Next, which began now. end is when the whole race
// ends; 0: never. If attempts begin one after the other, each gets an equal share of the time until
// then. It is at least 2 s if that much is left.
func (r *Race) Begun(a *Attempt, now, end time.Duration) {
	a.live, a.until = true, 0
	if end != 0 && r.delay < 0 {
		left := end - now
		a.until = now + min(left, max(left/time.Duration(len(r.left)+1), minAttempt))
	}
	r.next = saturate.Add(now, max(0, r.delay))
	r.live = append(r.live, a)
}

// Over notes the end of an attempt, or that it is given up. It reports whether the attempt was
// live.
func (r *Race) Over(a *Attempt) bool {
	was := a.live
	a.live = false
	if i := slices.Index(r.live, a); i >= 0 {
		r.live = slices.Delete(r.live, i, i+1)
	}
	return was
}

// Overdue reports whether a live attempt has used up its share of the time.
func (a *Attempt) Overdue(now time.Duration) bool {
	return a.live && a.until != 0 && now >= a.until
}

// Failed notes why the attempt to addr has failed: the next one begins at once.
func (r *Race) Failed(addr net.Addr, err error, now time.Duration) {
	r.failed = append(r.failed, &net.OpError{Op: "dial", Net: addr.Network(), Source: r.source, Addr: addr, Err: err})
	r.next = now
}

// Lost reports whether no attempt is live and none will begin, if Next has no address.
func (r *Race) Lost() bool { return r.known && len(r.live) == 0 }

// Wake is when Next or Overdue will say something else if nothing happens before; 0: never.
func (r *Race) Wake() (at time.Duration) {
	if len(r.left) > 0 && r.delay >= 0 && len(r.live) > 0 {
		at = r.next
	}
	for _, a := range r.live {
		if a.until != 0 && (at == 0 || a.until < at) {
			at = a.until
		}
	}
	return at
}
