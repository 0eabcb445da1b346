package process

import (
	"cmp"
	"sync"
	"sync/atomic"

	"github.com/suiro-go/suiro/internal/mpsc"
	"github.com/suiro-go/suiro/sched"
)

// A proc is what all kinds of processes have in common: a task with a mailbox.
//
// Any goroutine may put events into the mailbox and notify the state. All else belongs to the task,
// except for what mu guards. With OverflowDropOldest a sender may act as the consumer, so there mu
// guards taking, too.
type proc struct {
	task    sched.Task
	mailbox mpsc.Mailbox[any]
	state   mpsc.State
	signals int32 // events in pending that are not messages
	pid     PID
	sys     *System
	self    Self
	wake    func()         // wakes the process; nil: by its task
	cx      *sched.Context // of the present run

	// Taken from the mailbox and not received yet. mu guards them, and signals, with
	// OverflowDropOldest.
	pending, latest *node // all but completions of yields
	answers         *node // completions of yields: the latest, in a circle

	killed atomic.Pointer[error] // the reason of a kill; set once

	finished  bool // finish was called
	overflow  Overflow
	begun     bool // its first run has begun
	receiving bool // a receive has found no event in this run

	mu     sync.Mutex
	ended  bool
	trap   bool // exits of linked processes become events
	extras *extras
}

// extras are what few processes have. The process's lock guards them.
type extras struct {
	names    []string
	groups   []string
	links    map[PID]struct{}
	watchers map[watcher]struct{}
	monitors map[uint64]*monitor // that the process has set
	room     mpsc.Room           // of *sendFuture, that wait for room in the mailbox
	looked   *node               // of pending: the one that receiveMatch looks at
	passed   bool                // looked was dropped, and is a later one now
	done     chan struct{}       // of the context of Init
	canceled bool                // done is closed, or will be when it is made
}

// A watcher is told when a process ends. No lock is held.
type watcher interface{ processEnded(pid PID, reason error) }

// init prepares a process that nobody knows yet.
func (p *proc) init(s *System, body sched.Body, o *Options) {
	p.sys, p.self.p = s, p
	p.task.Init(s.rt, body)
	p.overflow = cmp.Or(o.Overflow, s.cfg.Overflow)
	p.mailbox.Init(&s.end, limitOf(cmp.Or(o.Mailbox, s.cfg.Mailbox)))
}

// more returns the extras. The lock is held.
func (p *proc) more() *extras {
	if p.extras == nil {
		p.extras = new(extras)
	}
	return p.extras
}

// put adds an event, wakes the process if it must be, and reports whether the process has not
// ended. cx is that of the calling task, or nil.
func (p *proc) put(cx *sched.Context, n *node, kind mpsc.Kind) (accepted bool) {
	accepted, first := p.mailbox.Put(n)
	if accepted && (first || kind == mpsc.Answer) && p.state.Notify(kind) {
		p.rouse(cx)
	}
	return accepted
}

// rouse wakes the process's task.
func (p *proc) rouse(cx *sched.Context) {
	switch {
	case p.wake != nil:
		p.wake()
	case cx != nil:
		cx.Wake(p.task.Waker())
	default:
		p.task.Wake()
	}
}

// signal puts an event that does not count as a message, and that also wakes a blocked process.
// false: the process has ended.
func (p *proc) signal(cx *sched.Context, ev Event) bool {
	g := p.sys.signal(ev)
	if !p.put(cx, &g.node, mpsc.Answer) {
		p.sys.free(&g.node)
		return false
	}
	return true
}

// kill ends the process soon. The first reason counts.
func (p *proc) kill(reason error) {
	p.mu.Lock()
	wake := p.killLocked(reason)
	p.mu.Unlock()
	if wake {
		p.rouse(nil)
	}
}

// killLocked is kill under the lock. It reports whether the caller must wake the process.
func (p *proc) killLocked(reason error) (mustWake bool) {
	if p.ended || !p.killed.CompareAndSwap(nil, &reason) {
		return false
	}
	p.endContext()
	return p.state.Notify(mpsc.Answer)
}

// collect empties the mailbox.
func (p *proc) collect() { p.append(p.mailbox.Take()) }

// append adds the events of the mailbox, a list from the newest to the oldest, to pending. The
// completions of yields in it go to answers. The list may be long, so it is walked once.
func (p *proc) append(newest *node) {
	var first, last, firstAnswer, lastAnswer *node
	for n := newest; n != nil; {
		before := n.Next
		if g := signalOf(n); g != nil && g.event.Type == EventYield {
			if n.Next = firstAnswer; firstAnswer == nil {
				lastAnswer = n
			}
			firstAnswer = n
		} else {
			if n.Next = first; first == nil {
				last = n
			}
			if first = n; g != nil {
				p.signals++
			}
		}
		n = before
	}
	if first != nil {
		if p.pending == nil {
			p.pending = first
		} else {
			p.latest.Next = first
		}
		p.latest = last
	}
	if firstAnswer != nil {
		if lastAnswer.Next = firstAnswer; p.answers != nil {
			lastAnswer.Next, p.answers.Next = p.answers.Next, firstAnswer
		}
		p.answers = lastAnswer
	}
}

// wakesBlocked reports whether there is an event for a process that waits for an answer.
func (p *proc) wakesBlocked() bool { return p.answers != nil || p.signals != 0 }

// dropAnswers forgets the completions of yields: the process has ended, or is of a kind that yields
// no commands.
func (p *proc) dropAnswers() {
	for p.answers != nil {
		p.sys.free(p.takeAnswer())
	}
}

// takeAnswer takes out the first completion of a yield.
func (p *proc) takeAnswer() *node {
	n := p.answers.Next
	if p.answers.Next = n.Next; n == p.answers {
		p.answers = nil
	}
	return n
}

// lockMail is called before, and unlockMail after, the process deals with pending.
func (p *proc) lockMail() {
	if p.overflow == OverflowDropOldest {
		p.mu.Lock()
	}
}

func (p *proc) unlockMail() {
	if p.overflow == OverflowDropOldest {
		p.mu.Unlock()
	}
}

// batch appends received events to buf, up to its capacity. more and moreAnswers say whether events
// are left that an idle or a blocked process must get. A process that is blocked gets none until
// there is an answer.
func (p *proc) batch(buf []Event, blocked bool) (events []Event, more, moreAnswers bool) {
	p.lockMail()
	p.collect()
	if blocked && !p.wakesBlocked() {
		p.unlockMail()
		return buf, false, false
	}
	for p.answers != nil && len(buf) < cap(buf) {
		n := p.takeAnswer()
		buf = append(buf, eventOf(n))
		p.sys.free(n)
	}
	counted, n := 0, p.pending
	var used *node
	for ; n != nil && len(buf) < cap(buf); n = p.pending {
		buf = append(buf, eventOf(n))
		p.pending = n.Next
		if p.taken(n) == 0 {
			p.sys.free(n)
			continue
		}
		counted++
		n.Value, n.Next, used = nil, used, n
	}
	if used != nil {
		p.sys.nodes.Put(used)
	}
	if n == nil {
		p.latest = nil // else it would keep nodes that have been given back
	}
	p.mailbox.Free(counted)
	more, moreAnswers = p.pending != nil || p.answers != nil, p.wakesBlocked()
	p.unlockMail()
	p.madeRoom(counted)
	return buf, more, moreAnswers
}

// taken notes that a node has left pending, and returns the number of counted messages it is.
func (p *proc) taken(n *node) int {
	if signalOf(n) == nil {
		return 1
	}
	p.signals--
	return 0
}

// receive takes out the first event that match accepts. The caller has emptied the mailbox. match
// may be called under the lock.
func (p *proc) receive(match func(ev Event) bool) (ev Event, ok bool) {
	p.lockMail()
	var before *node
	n := p.pending
	for n != nil && !match(eventOf(n)) {
		before, n = n, n.Next
	}
	return p.received(before, n)
}

// receiveMatch is receive with a function of the user, which is never called under the lock, and
// looks at seen. With OverflowDropOldest a sender may drop the event that it looks at: see
// takeOldest.
func (p *proc) receiveMatch(match func(ev *Event) bool, seen *Event) (ev Event, ok bool) {
	accepts := func(ev Event) bool {
		*seen = ev
		return match(seen)
	}
	if p.overflow != OverflowDropOldest {
		return p.receive(accepts)
	}
	p.mu.Lock()
	x := p.more()
	for x.looked = p.pending; x.looked != nil; {
		n := x.looked
		ev, x.passed = eventOf(n), false
		p.mu.Unlock()
		accepted := accepts(ev)
		p.mu.Lock()
		switch {
		case x.passed: // it was dropped, and looked is one after it
		case accepted:
			x.looked = nil
			return p.received(p.before(n), n)
		default:
			x.looked = n.Next
		}
	}
	return p.received(nil, nil)
}

// before is the event before n among those that are pending; nil: there is none.
func (p *proc) before(n *node) (before *node) {
	for at := p.pending; at != n; at = at.Next {
		before = at
	}
	return before
}

// received takes out n, which follows before, or nothing if n is nil. lockMail was called.
func (p *proc) received(before, n *node) (ev Event, ok bool) {
	if n == nil {
		p.unlockMail()
		return ev, false
	}
	p.unlink(before, n)
	counted := p.taken(n)
	p.mailbox.Free(counted)
	p.unlockMail()
	ev = eventOf(n)
	p.sys.free(n)
	p.madeRoom(counted)
	return ev, true
}

// unlink takes n, which follows before, out of pending.
func (p *proc) unlink(before, n *node) {
	if before == nil {
		p.pending = n.Next
	} else {
		before.Next = n.Next
	}
	if p.latest == n {
		p.latest = before
	}
}
