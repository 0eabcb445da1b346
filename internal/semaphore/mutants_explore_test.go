//go:build explore

package semaphore

import (
	"testing"

	"github.com/suiro-go/suiro/internal/explore/mutants"
)

const (
	takeTurns = "TestExploreHandshakesThatTakeTurns/two"
	canceled  = "TestExploreACanceledHandshake"
)

var mistakes = map[string]mutants.Mutant{
	"an acquisition that is released twice":   mutants.In("semaphore.go", canceled, "w.acquired = false\n", "_ = w.acquired\n"),
	"one more than the limit":                 mutants.In("semaphore.go", takeTurns, "if s.held >= limit {", "if s.held > limit {"),
	"an acquisition without a signal":         mutants.In("semaphore.go", takeTurns, "next.Signal()", "_ = next.Signal"),
	"a goroutine that is started again":       mutants.In("semaphore.go", takeTurns, "v.acquired, v.started = true, true", "v.acquired = true"),
	"a canceled waiter that stays queued":     mutants.In("semaphore.go", canceled, "return s.queue.Remove(&w.node)", "return w.node.Listed()"),
	"a canceled start of a running goroutine": mutants.In("semaphore.go", canceled, "if !w.started {\n\t\ts.queue", "if true {\n\t\ts.queue"),
	"a release without a waiter that is lost": mutants.In("semaphore.go", takeTurns, "s.held--", "_ = s.held"),
	"an acquisition without the lock": mutants.In("semaphore.go", takeTurns,
		"s.mu.Lock()\n\tdefer s.mu.Unlock()\n\tif s.held >= limit {",
		"full := s.held >= limit\n\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n\tif full {"),
}

// The explorer must find each of these mistakes.
func TestMutantsAreCaughtByTheExplorer(t *testing.T) { mutants.MustAllBeCaught(t, mistakes) }
