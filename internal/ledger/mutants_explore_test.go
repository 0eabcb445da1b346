//go:build explore

package ledger

import (
	"testing"

	"github.com/suiro-go/suiro/internal/explore/mutants"
)

const waits = "TestExploreWhoWaitsForMemory"

var mistakes = map[string]mutants.Mutant{
	"one that registers and does not look again": mutants.In("ledger.go", waits,
		"if l.Tight() {\n\t\treturn false\n\t}\n\tl.remove(&p.node)\n\treturn true", "return false"),
	"one that registers and is not counted": mutants.In("ledger.go", waits,
		"l.line.PushBack(&p.node)\n\t\tl.waiters.Store(int32(l.line.Len()))", "l.line.PushBack(&p.node)"),
	"one that looks before it registers": mutants.In("ledger.go", waits,
		"l.mu.Lock()\n\tdefer l.mu.Unlock()\n\tif !p.node.Listed() {", "tight := l.Tight()\n\tl.mu.Lock()\n\tdefer l.mu.Unlock()\n\tif !p.node.Listed() {",
		"if l.Tight() {\n\t\treturn false", "if tight {\n\t\treturn false"),
	"a wake-up that leaves the line as it is": mutants.In("ledger.go", waits,
		"l.remove(next)", "_ = next"),
	"a reset while peers may take what is unsent": mutants.In("ledger.go", waits,
		"return l.unsent.Load() == 0 && ", "return "),
	"a sum that is stored instead of added": mutants.In("charge.go", waits,
		"l.own.Add(own)", "l.own.Store(l.own.Load() + own)"),
	"bytes that are sent before they are free": mutants.In("charge.go", waits,
		"if more > 0 {", "if more != 0 {", "if more < 0 {", "if false {"),
	"bytes that are counted twice for a moment": mutants.In("charge.go", "TestExploreBytesThatAreAnswered",
		"if own != 0 {\n\t\tl.own.Add(own)", "if own != 0 || more != 0 {\n\t\tl.own.Add(more)\n\t\tl.own.Add(own - more)"),
	"a reset by what was so before": mutants.In("ledger.go", waits,
		"l.unsent.Load() == 0 && l.Own() > int64(l.tooMuch())", "l.unsent.Load() == 0"),
	"nobody to go when nothing helps": mutants.In("ledger.go", "TestExploreWaitingThatWouldNotHelp",
		"return l.unsent.Load() == 0 && ", "return l.unsent.Load() < 0 && "),
}

// The explorer is worth what it finds: each of these mistakes.
func TestMutantsAreCaughtByTheExplorer(t *testing.T) { mutants.MustAllBeCaught(t, mistakes) }
