package reactortest

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/reactor"
)

// shortHold is a wait in which the thread keeps its processor, as a worker does before it blocks.
const shortHold = 20 * time.Microsecond

// A loop is a reactor with its owner, the test's goroutine. It checks each completion against the
// contract and passes it to its endpoint.
type loop struct {
	t         testing.TB
	r         reactor.Reactor
	out       []reactor.Completion
	endpoints map[reactor.Token]*endpoint
	next      uint32 // index of the next token
	fence     *fence
	history   []string    // the last completions, for the dump
	events    int         // completions so far
	told      []*endpoint // of each edge, until the test forgets them
	closed    bool
	faulty    bool // system calls fail according to a plan
	again     bool // an operation that had ended without an effect was submitted again
	rearmed   bool // any operation that had ended was submitted again
}

func newLoop(t testing.TB, b Backend, sizes reactor.Config) *loop {
	t.Helper()
	lock(t)
	r, err := b.open(sizes)
	require.NoError(t, err)
	l := &loop{t: t, r: r, out: make([]reactor.Completion, 64), endpoints: map[reactor.Token]*endpoint{}, faulty: faults.Of(&b.Config) != nil}
	t.Cleanup(l.close)
	return l
}

// close closes the reactor and then its sockets. Operations in flight on them are abandoned.
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
		op.Sent = -1 // Submit must set it, whatever its value before
	}
	require.NoError(l.t, l.r.Submit(&op), "%v on %d", op.Kind, op.FD)
	require.GreaterOrEqual(l.t, op.Sent, 0)
	return op.Sent
}

// until polls until the condition holds.
func (l *loop) until(what string, done func() bool) {
	l.t.Helper()
	for deadline := time.Now().Add(patience.Limit); !done(); {
		left := time.Until(deadline)
		if left <= 0 {
			l.t.Fatalf("waited %v in vain: %s\n%s", patience.Limit, what, l.dump())
		}
		if l.poll(shortHold, true) == 0 && !done() {
			l.poll(left, false) // the full time: a shorter time-out would hide a lost event
		}
	}
}

// poll polls once and dispatches the completions.
func (l *loop) poll(wait time.Duration, hold bool) int {
	l.t.Helper()
	n, err := l.r.Poll(l.out, wait, hold)
	require.NoError(l.t, err)
	require.LessOrEqual(l.t, n, len(l.out))
	got := l.out
	l.out = make([]reactor.Completion, len(got)) // a new slice: the completions stay unchanged while endpoints submit
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

// settle returns when all earlier events have been reported, and all required operations are in
// flight.
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

// flush makes the reactor submit all queued operations. With faults some of them end at once and
// are armed again, so it goes on until a pass has armed none.
func (l *loop) flush() {
	l.t.Helper()
	for again := true; again; again = l.faulty && l.rearmed {
		l.rearmed = false
		l.poll(0, false)
		for i := 0; l.faulty && i < 15; i++ {
			l.poll(2*time.Millisecond, false) // in total longer than the pause of a reactor whose kernel lacks memory
		}
	}
}

// idle returns once a Poll has waited its full time without an event: the reactor does not spin.
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
