package reactortest

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/reactor"
)

// patience is how long a test waits for what must happen; it is never a measure of anything.
const patience = 30 * time.Second

// shortHold is the wait in which the thread keeps its processor, as a worker does before it blocks.
const shortHold = 20 * time.Microsecond

// A loop is a reactor with its owner, the test's goroutine. It hands each completion to its endpoint, and
// holds it against the contract before.
type loop struct {
	t         testing.TB
	r         reactor.Reactor
	out       []reactor.Completion
	endpoints map[reactor.Token]*endpoint
	next      uint32 // index of the next token
	fence     *fence
	history   []string // the last completions, for the dump
	events    int      // completions so far
	closed    bool
	faulty    bool // system calls fail as a plan has it
	again     bool // an operation that had ended for nothing was submitted again
	rearmed   bool // any that had ended was
}

func newLoop(t testing.TB, b Backend, sizes reactor.Config) *loop {
	t.Helper()
	lock(t)
	r, err := b.open(sizes)
	require.NoError(t, err)
	l := &loop{t: t, r: r, out: make([]reactor.Completion, 64), endpoints: map[reactor.Token]*endpoint{}, faulty: b.Config.Faults != nil}
	t.Cleanup(l.close)
	return l
}

// close closes the reactor and then its sockets: what is still in flight on them is abandoned.
func (l *loop) close() {
	if l.closed {
		return
	}
	l.closed = true
	require.NoError(l.t, l.r.Close())
	for _, e := range l.endpoints {
		if e.fd >= 0 {
			closeSocket(e.fd)
		}
	}
}

// submit submits an operation, and returns how much of a send was taken at once.
func (l *loop) submit(op reactor.Op) (sent int) {
	l.t.Helper()
	if op.Kind == reactor.Send || op.Kind == reactor.SendTo {
		op.Sent = -1 // it is Submit's to set, whatever was there
	}
	require.NoError(l.t, l.r.Submit(&op), "%v on %d", op.Kind, op.FD)
	require.GreaterOrEqual(l.t, op.Sent, 0)
	return op.Sent
}

// until polls until the condition holds.
func (l *loop) until(what string, done func() bool) {
	l.t.Helper()
	for deadline := time.Now().Add(patience); !done(); {
		left := time.Until(deadline)
		if left <= 0 {
			l.t.Fatalf("waited %v in vain: %s\n%s", patience, what, l.dump())
		}
		if l.poll(shortHold, true) == 0 && !done() {
			l.poll(left, false) // in full: a time-out would hide what is lost
		}
	}
}

// poll polls once and dispatches what came.
func (l *loop) poll(wait time.Duration, hold bool) int {
	l.t.Helper()
	n, err := l.r.Poll(l.out, wait, hold)
	require.NoError(l.t, err)
	require.LessOrEqual(l.t, n, len(l.out))
	got := l.out
	l.out = make([]reactor.Completion, len(got)) // what came stays as it was while endpoints submit
	for i := range got[:n] {
		l.dispatch(&got[i])
	}
	return n
}

func (l *loop) dispatch(c *reactor.Completion) {
	l.t.Helper()
	l.record(c)
	e := l.endpoints[c.Token]
	if e == nil {
		l.t.Fatalf("a completion for nobody: %s\n%s", describe(c), l.dump())
	}
	if why := e.breach(c); why != "" {
		l.t.Fatalf("%s: %s\n%s", describe(c), why, l.dump())
	}
	e.take(c)
}

func (l *loop) record(c *reactor.Completion) {
	l.events++
	if len(l.history) == 60 {
		l.history = l.history[1:]
	}
	l.history = append(l.history, describe(c))
}

// settle returns when all that had happened before has been reported, and what has to be in flight is.
func (l *loop) settle() {
	l.t.Helper()
	if l.fence == nil {
		l.fence = newFence(l)
	}
	for l.again = true; l.again; {
		l.again = false
		l.fence.pass()
		if l.faulty {
			l.flush()
		}
	}
}

// flush has the reactor submit what was queued; who is refused by the kernel tries again.
func (l *loop) flush() {
	l.t.Helper()
	l.rearmed = false
	l.poll(0, false)
	for i := 0; l.faulty && i < 15; i++ {
		l.poll(2*time.Millisecond, false) // in all, longer than a reactor pauses that was refused memory
	}
}

// idle returns once a Poll has waited its time in vain: the reactor does not spin.
func (l *loop) idle() {
	l.t.Helper()
	const wait = 3 * time.Millisecond
	for range 100 { // a signal may end some of them early
		if start := time.Now(); l.poll(wait, false) == 0 && time.Since(start) >= wait {
			return
		}
	}
	l.t.Fatalf("Poll never waits\n%s", l.dump())
}

func (l *loop) dump() string {
	var s strings.Builder
	fmt.Fprintf(&s, "backend %s; %d completions, the last of them:\n", l.r.Name(), l.events)
	for _, line := range l.history {
		fmt.Fprintf(&s, "\t%s\n", line)
	}
	s.WriteString("endpoints with something in flight:\n")
	shown := 0
	for _, e := range l.endpoints {
		if e.inFlight() && shown < 30 {
			fmt.Fprintf(&s, "\t%s\n", e)
			shown++
		}
	}
	return s.String()
}

func describe(c *reactor.Completion) string {
	res := fmt.Sprint(c.Res)
	if c.Res < 0 {
		res = syscall.Errno(-c.Res).Error()
	}
	more := ""
	if c.More {
		more = ", more"
	}
	return fmt.Sprintf("%d/%d %v: %s%s", c.Token.Index(), c.Token.Generation(), c.Kind, res, more)
}
