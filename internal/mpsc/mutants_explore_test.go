//go:build explore

package mpsc

import (
	"testing"

	"github.com/suiro-go/suiro/internal/explore/mutants"
)

var mistakes = map[string]mutants.Mutant{
	"a sender that stores instead of comparing": mutants.In("mailbox.go", "TestExploreMessages",
		"if m.top.CompareAndSwap(old, n) {", "if m.top.Store(n); true {"),
	"a consumer that loads, then stores": mutants.In("mailbox.go", "TestExploreMessages",
		"return m.top.Swap(nil)", "top := m.top.Load()\n\tm.top.Store(nil)\n\treturn top"),
	"a sender that notifies when the mailbox was not empty": mutants.In("mailbox.go", "TestExploreMessages",
		"return true, old == nil", "return true, old != nil"),
	"a close that leaves messages behind": mutants.In("mailbox.go", "TestExploreAnEnd",
		"top := m.top.Swap(m.end)\n", "top := m.top.Load()\n\tm.top.Store(m.end)\n"),
	"a closed mailbox that accepts": mutants.In("mailbox.go", "TestExploreAnEnd",
		"if old == m.end {\n\t\t\treturn false, false", "if false {\n\t\t\treturn false, false"),
	"a reservation that adds instead of comparing": mutants.In("mailbox.go", "TestExploreALimit",
		"if m.count.CompareAndSwap(n, n+1) {", "if m.count.Add(1); true {"),
	"a reservation that counts the refused": mutants.In("mailbox.go", "TestExploreALimit",
		"n := m.count.Load()\n\t\tif n >= m.limit {", "n := m.count.Add(1) - 1\n\t\tif n >= m.limit {\n\t\t\tm.count.Add(-1)",
		"if m.count.CompareAndSwap(n, n+1) {", "if true {"),
	"a sender that sits unseen": mutants.In("room.go", "TestExploreSenders",
		"m.waiting.Store(true)", ""),
	"a sender that leaves and forgets those that sit": mutants.In("room.go", "TestExploreSenders",
		"m.waiting.Store(r.first != nil)", "m.waiting.Store(false)"),
	"a sender that was called and gives up alone": mutants.In("room.go", "TestExploreASender",
		"return m.Call(r)", "return nil"),
	"a call that the sender does not know of": mutants.In("room.go", "TestExploreASender",
		"s.called = true\n\t}", "}"),
	"a settle that forgets the wake-up flag of messages": mutants.In("state.go", "TestExploreMessages",
		"to == Idle && old&(mailed|answered) != 0", "to == Idle && old&answered != 0"),
	"a settle that forgets the wake-up flag of answers": mutants.In("state.go", "TestExploreAnswers",
		"to == Blocked && old&answered != 0", "false"),
	"a settle that stores instead of comparing": mutants.In("state.go", "TestExploreMessages",
		"if s.word.CompareAndSwap(old, uint32(next)) {\n\t\t\treturn next == Ready", "if s.word.Store(uint32(next)); true {\n\t\t\treturn next == Ready"),
	"a notify that does not set the flag": mutants.In("state.go", "TestExploreAnswers",
		"if next = old | uint32(kind); next == old {", "if next = old; next == old {"),
	"a notify that leaves a blocked process to others": mutants.In("state.go", "TestExploreAnswers",
		"case Blocked:\n\t\t\tif kind == Message {", "case Blocked:\n\t\t\tif kind != 0 {"),
	"a notify that wakes a blocked process for a message": mutants.In("state.go", "TestExploreABlocked",
		"case Blocked:\n\t\t\tif kind == Message {", "case Blocked:\n\t\t\tif false {",
		"return Phase(old&phaseMask) != Running", "return false"),
	"a notify that wakes nobody": mutants.In("state.go", "TestExploreMessages",
		"return Phase(old&phaseMask) != Running", "return false"),
}

// The explorer must find each of these mistakes.
func TestMutantsAreCaughtByTheExplorer(t *testing.T) { mutants.MustAllBeCaught(t, mistakes) }
