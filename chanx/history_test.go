//go:build !explore

package chanx_test

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// A history is what clients have done, at once, and what came of it.
type history struct {
	clock atomic.Int64
	mu    sync.Mutex
	ops   []porcupine.Operation
}

// An act is an operation as a client asks for it, or its result.
type act struct {
	what   string
	client int
	value  int
}

// do records what f does.
func (h *history) do(in act, f func() act) {
	call := h.clock.Add(1)
	if call%3 == 0 {
		runtime.Gosched() // others between the call and the return
	}
	out := f()
	end := h.clock.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{ClientId: in.client, Input: in, Call: call, Output: out, Return: end})
}

// together runs clients at once, and returns when all are done.
func (h *history) together(t *testing.T, clients ...func(client int)) {
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i, c := range clients {
		all.Go(func() { <-begin; c(i) })
	}
	close(begin)
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("clients do not end\n\n%s", stacks())
	}
}

func (h *history) linearizable(model porcupine.Model) bool {
	return porcupine.CheckOperations(model, h.ops)
}

// linearizable checks some histories of what play plays, and rejected expects that one of
// some is found not to be: a check that finds nothing wrong with a mistake is none.
func linearizable(t *testing.T, model porcupine.Model, play func(h *history)) {
	for range rounds(4000) {
		h := new(history)
		play(h)
		if !h.linearizable(model) {
			slices.SortFunc(h.ops, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
			t.Fatalf("not linearizable: %+v", h.ops)
		}
	}
}

func rejected(t *testing.T, model porcupine.Model, play func(h *history)) {
	for range 100_000 {
		h := new(history)
		play(h)
		if !h.linearizable(model) {
			return
		}
	}
	require.Fail(t, "the checker takes a mistake for right")
}
