//go:build explore

package sched

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	explorer "github.com/suiro-go/suiro/sched/internal/explore"
)

// A mutant is a mistake made in a source file, and the tests that are to find it.
type mutant struct {
	file  string
	edits []edit
	tests string // a regular expression for -run
}

type edit struct{ from, to string }

// fullRings are tests in which a ring fills up, so that its owner comes around to
// where a thief reads.
const fullRings = "TestExplore(Push|ABatch|TwoThieves|Overflow)"

var mutants = map[string]mutant{
	"a release that stores instead of comparing": {"ring.go", []edit{{
		"if r.head.CompareAndSwap(head, packHeads(real, real)) {\n\t\t\treturn\n\t\t}",
		"r.head.Store(packHeads(real, real))\n\t\treturn",
	}}, "TestExploreOwner"},
	"a release before the tasks are copied": {"ring.go", []edit{{
		"t := r.slots[last&r.mask]\n\tr.slots[last&r.mask] = nil\n\tr.release()",
		"r.release()\n\tt := r.slots[last&r.mask]\n\tr.slots[last&r.mask] = nil",
	}}, fullRings},
	"a push where a thief reads": {"ring.go", []edit{{
		"if int(tail-steal) < len(r.slots) {", "if int(tail-real) < len(r.slots) {",
	}}, "TestExplorePush"},
	"a pop that stores instead of comparing": {"ring.go", []edit{{
		"if r.head.CompareAndSwap(head, next) {", "if r.head.Store(next); true {",
	}}, fullRings},
	"a pop that forgets the thief": {"ring.go", []edit{{
		"next := packHeads(steal, real+1)\n\t\tif steal == real {",
		"next := packHeads(steal, real+1)\n\t\tif true {",
	}}, fullRings},
	"a second thief at work": {"ring.go", []edit{{
		"if steal != real {\n\t\t\treturn 0, 0", "if false {\n\t\t\treturn 0, 0",
	}}, fullRings},
	"an overflow that claims nothing": {"ring.go", []edit{
		{"if !r.head.CompareAndSwap(head, packHeads(real, tail)) {\n\t\treturn false\n\t}", "_ = real"},
		{"r.head.Store(head) // nobody", "// nobody"},
	}, "TestExploreOverflowWhileA"},
	"a batch pushed where a thief reads": {"ring.go", []edit{{
		"steal, _ := heads(r.head.Load())\n\treturn len(r.slots)", "_, steal := heads(r.head.Load())\n\treturn len(r.slots)",
	}}, "TestExploreABatch"},
	"a suspend that stores instead of comparing": {"state.go", []edit{{
		"if s.word.CompareAndSwap(old, next) {\n\t\t\treturn again", "if s.word.Store(next); true {\n\t\t\treturn again",
	}}, "TestExploreWakers"},
	"a suspend that forgets a cancellation": {"state.go", []edit{{
		"old&notified != 0 || dueToEnd(old)", "old&notified != 0",
	}}, "TestExploreCancel"},
	"a wake that looks at no generation": {"state.go", []edit{{
		"if old&generationMask != uint64(generation)&generationMask {", "if false {",
	}}, "TestExploreAStale"},
	"a detach that stores instead of comparing": {"state.go", []edit{{
		"if old&lifecycleMask == stateComplete || s.word.CompareAndSwap(old, (old|detached)-oneRef) {",
		"if s.word.Store((old | detached) - oneRef); true {",
	}}, "TestExploreDetach"},
	"a claim that does not look again": {"idle.go", []edit{{
		"\t\ts.searching.Add(-1)\n\t}\n\treturn -1", "\t\ts.searching.Add(-1)\n\t\tbreak\n\t}\n\treturn -1",
	}}, "TestExploreParking/two_pushes"},
	"a claim whoever searches": {"idle.go", []edit{{
		"if !s.searching.CompareAndSwap(0, 1) {", "if s.searching.Add(1) < 0 {",
	}}, "TestExploreParking/a_burst_onto_two"},
	"a worker that takes itself off the parked with a store": {"idle.go", []edit{{
		"return s.words[worker/64].bits.And(^bit)&bit == 0",
		"w := &s.words[worker/64].bits\n\tset := w.Load()\n\tw.Store(set &^ bit)\n\treturn set&bit == 0",
	}}, "TestExploreParking"},
	"a batch that for a moment is to be seen nowhere": {"global.go", []edit{{
		"to.pushAll(&l)\n\tq.len.Store(int64(q.list.len))", "q.len.Store(int64(q.list.len))\n\tto.pushAll(&l)",
	}}, "TestExploreParking/tasks_behind"},
	"a parker that forgets an unpark": {"parker.go", []edit{{
		"return p.state.CompareAndSwap(unparked, parked)", "p.state.Store(parked); return true",
	}}, "TestExploreTheParker"},
}

// The explorer is worth what it finds: each of these mistakes.
func TestMutantsAreCaughtByTheExplorer(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the package for each mutant")
	}
	for name, m := range mutants {
		t.Run(name, func(t *testing.T) {
			if m.file == "global.go" && !globalIsShimmed() {
				t.Skip("each call of the global queue is one step")
			}
			t.Parallel() // nothing here uses a shim
			overlay := m.write(t)
			child := exec.CommandContext(t.Context(), "go", "test", "-tags", "explore", "-vet=off", "-count=1", "-failfast",
				"-ldflags=-s -w", "-overlay", overlay, "-timeout", "60s", "-run", m.tests, ".")
			out, err := child.CombinedOutput()
			require.Error(t, err, "not caught: %s", out)
			require.Contains(t, string(out), explorer.Failed)
			t.Log(firstFailure(string(out)))
		})
	}
}

// write makes the mistake in a copy, and returns what has go test use it.
func (m mutant) write(t *testing.T) (overlay string) {
	source, err := os.ReadFile(m.file)
	require.NoError(t, err)
	text := string(source)
	for _, e := range m.edits {
		require.Equal(t, 1, strings.Count(text, e.from), "%s must have once: %s", m.file, e.from)
		text = strings.Replace(text, e.from, e.to, 1)
	}
	dir := t.TempDir()
	mutated, overlay := filepath.Join(dir, m.file), filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(mutated, []byte(text), 0o600))
	path, err := filepath.Abs(m.file)
	require.NoError(t, err)
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{path: mutated}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, replace, 0o600))
	return overlay
}

func firstFailure(out string) string {
	test, after, _ := strings.Cut(out, explorer.Failed)
	test, _, _ = strings.Cut(test[max(0, strings.LastIndex(test, "Test")):], " ")
	line, _, _ := strings.Cut(after, "\n")
	return test + ": " + line
}
