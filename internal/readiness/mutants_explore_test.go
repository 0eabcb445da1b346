//go:build explore

package readiness

import (
	"testing"

	"github.com/suiro-go/suiro/internal/explore/mutants"
)

const all = "TestExplore"

var mistakes = map[string]mutants.Mutant{
	"a signal that takes a waiter out without waking it": mutants.In("half.go", all,
		"waker.Wake()", "_ = waker"),
	"a signal that leaves no edge": mutants.In("half.go", all,
		"h.state.Swap(&h.edge)", "h.state.Swap(nil)"),
	"a signal that looks before it stores": mutants.In("half.go", all,
		"if w := h.state.Swap(&h.edge); w", "w := h.state.Load()\n\th.state.Store(&h.edge)\n\tif w"),
	"a signal that forgets its edge if somebody waits": mutants.In("half.go", all,
		"return w.waker, true", "h.state.CompareAndSwap(&h.edge, nil)\n\t\treturn w.waker, true"),
	"a waiter that is stored over an edge": mutants.In("half.go", all,
		"if h.state.CompareAndSwap(nil, h.last) {", "h.state.Store(h.last)\n\t\tif true {"),
	"a poll that does not look for an edge": mutants.In("half.go", all,
		"case &h.edge:\n\t\t\treturn 0, true, nil", "case &h.edge:\n\t\t\treturn deadline, false, nil"),
	"a poll that looks at the life before the call only": mutants.In("half.go", all,
		"if life.Closed() {", "if life.Closed() && h.Ready() {"),
	"a poll that does not look at the deadline": mutants.In("half.go", all,
		"if deadline != 0 && now >= deadline {", "if false {"),
	"a poll that keeps the waker of another waiter": mutants.In("half.go", all,
		"if h.last == nil || h.last.waker != waker {", "if h.last == nil {"),
	"a waiter that forgets an edge": mutants.In("half.go", all,
		"h.state.CompareAndSwap(h.last, nil)\n\t}\n}", "h.state.Store(nil)\n\t}\n}"),
	"a deadline that wakes nobody": mutants.In("half.go", all,
		"h.deadline.Store(int64(at))\n\th.Signal()", "h.deadline.Store(int64(at))"),
	"a deadline that wakes before it is there": mutants.In("half.go", all,
		"h.deadline.Store(int64(at))\n\th.Signal()", "h.Signal()\n\th.deadline.Store(int64(at))"),
	"a call that enters beside another": mutants.In("life.go", all,
		"case w&(underWay<<d) != 0:\n\t\t\treturn ErrInUse", "case false:"),
	"a call that enters after the close": mutants.In("life.go", all,
		"case w&closed != 0:\n\t\t\treturn net.ErrClosed", "case false:"),
	"a close that is the last beside a call": mutants.In("life.go", all,
		"return old&closed == 0, old == 0", "return old&closed == 0, old&closed == 0"),
	"a close that is never the last": mutants.In("life.go", all,
		"return old&closed == 0, old == 0", "return old&closed == 0, false"),
	"a second close that is the first": mutants.In("life.go", all,
		"return old&closed == 0, old == 0", "return old&closed == 0, old&^closed == 0"),
	"a call that leaves without closing": mutants.In("life.go", all,
		"return l.word.Add(-(underWay << d)) == closed", "l.word.Add(-(underWay << d))\n\treturn false"),
	"a user that ends without closing": mutants.In("life.go", all,
		"return l.word.Add(^(user - 1)) == closed", "l.word.Add(^(user - 1))\n\treturn false"),
	"a registration that does not see the close": mutants.In("registration.go", all,
		"return r.word.And(^registered) == registered|shut", "r.word.And(^registered)\n\treturn false"),
	"a registration that ends after it has looked for the close": mutants.In("registration.go", all,
		"return r.word.And(^registered) == registered|shut", "w := r.word.Load()\n\tr.word.And(^registered)\n\treturn w == registered|shut"),
	"a registration that ends twice": mutants.In("registration.go", all,
		"return r.word.And(^registered) == registered|shut", "return r.word.And(^registered)&shut != 0"),
	"a close that looks for the registration before it is seen": mutants.In("registration.go", all,
		"return r.word.Or(shut)&registered != 0", "w := r.word.Load()\n\tr.word.Or(shut)\n\treturn w&registered != 0"),
	"a close that never ends the registration": mutants.In("registration.go", all,
		"return r.word.Or(shut)&registered != 0", "r.word.Or(shut)\n\treturn false"),
}

// The explorer is worth what it finds: each of these mistakes.
func TestMutantsAreCaughtByTheExplorer(t *testing.T) { mutants.MustAllBeCaught(t, mistakes) }
