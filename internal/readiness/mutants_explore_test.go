//go:build explore

package readiness

import (
	"testing"

	"github.com/suiro-go/suiro/internal/explore/mutants"
)

const all = "TestExplore"

var mistakes = map[string]mutants.Mutant{
	"a user that enters after the close": mutants.In("life.go", all,
		"return false\n\t\t}\n\t\tif l.users.CompareAndSwap(n, n+1) {", "_ = n\n\t\t}\n\t\tif l.users.CompareAndSwap(n, n+1) {"),
	"a user that enters in two steps": mutants.In("life.go", all,
		"if l.users.CompareAndSwap(n, n+1) {", "l.users.Store(n + 1)\n\t\tif true {"),
	"a user that leaves without closing": mutants.In("life.go", all,
		"return l.users.Add(-1) == closed", "l.users.Add(-1)\n\treturn false"),
	"a user that closes although others are left": mutants.In("life.go", all,
		"return l.users.Add(-1) == closed", "return l.users.Add(-1)&closed != 0"),
	"a close that is no user": mutants.In("life.go", all,
		"(n|closed)+1", "n|closed"),
	"a second close that is the first": mutants.In("life.go", all,
		"return false\n\t\t}\n\t\tif l.users.CompareAndSwap(n, (n", "_ = n\n\t\t}\n\t\tif l.users.CompareAndSwap(n, (n"),
	"an edge that is not counted": mutants.In("side.go", all,
		"s.edges.Add(1)\n", ""),
	"an edge that wakes none that take": mutants.In("side.go", all,
		"\ts.Next(by)\n\ts.wakeAll(&s.others, nil, by)", "\ts.wakeAll(&s.others, nil, by)"),
	"an edge that wakes none that take nothing": mutants.In("side.go", all,
		"\ts.Next(by)\n\ts.wakeAll(&s.others, nil, by)", "\ts.Next(by)"),
	"a call that does not look for an edge since its attempt": mutants.In("side.go", all,
		"if ready || w.made && s.edges.Load() != w.edges {", "if ready {"),
	"an attempt that is noted when it waits": mutants.In("side.go", all,
		"if ready || w.made && s.edges.Load() != w.edges {", "w.edges = s.edges.Load()\n\tif ready || w.made && s.edges.Load() != w.edges {"),
	"a call that does not look for the close": mutants.In("side.go", all,
		"case l.Closed():", "case false:"),
	"a call that does not look at the deadline": mutants.In("side.go", all,
		"case s.Late():", "case false:"),
	"a deadline that wakes nobody": mutants.In("side.go", all,
		"s.late.Store(true)\n\ts.Fail(os.ErrDeadlineExceeded, by)", "s.late.Store(true)"),
	"a deadline that is not marked": mutants.In("side.go", all,
		"s.late.Store(true)\n", ""),
	"an end that wakes none that take": mutants.In("side.go", all,
		"s.wakeAll(&s.takers, err, by)", ""),
	"an end that wakes none that take nothing": mutants.In("side.go", all,
		"s.wakeAll(&s.others, err, by)", ""),
	"a wake without its error": mutants.In("side.go", all,
		"w.woken, w.parked, w.err = true, false, err", "w.woken, w.parked = true, false"),
	"a call that was woken and stays in its list": mutants.In("side.go", all,
		"s.of(w).Remove(&w.node)\n\tw.woken, w", "if w.Takes == false {\n\t\ts.of(w).Remove(&w.node)\n\t}\n\tw.woken, w"),
	"a turn that is not passed on": mutants.In("side.go", all,
		"return had && s.takers.Len() > 0", "return had && false"),
	"a call that gives up and stays in its list": mutants.In("side.go", all,
		"s.of(w).Remove(&w.node)\n\tif w.turn", "if w.turn"),
	"a call that was woken and gives up, and wakes nobody": mutants.In("side.go", all,
		"if w.turn || w.Takes && w.woken && w.err == nil {", "if w.turn {"),
	"a call that is woken without a turn": mutants.In("wait.go", all,
		"w.turn = w.Takes && err == nil", "w.turn = false"),
}

// The explorer is worth what it finds: each of these mistakes.
func TestMutantsAreCaughtByTheExplorer(t *testing.T) { mutants.MustAllBeCaught(t, mistakes) }
