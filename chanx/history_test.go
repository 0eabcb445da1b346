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

// A history records the concurrent operations of clients, and their results.
type history struct {
	clock atomic.Int64
	mu    sync.Mutex
	ops   []porcupine.Operation
}

// An act is the argument of a client's operation, or its result.
type act struct {
	what   string
	client int
	value  int
}

// do calls f, and records the operation.
func (h *history) do(in act, f func() act) {
	call := h.clock.Add(1)
	if call%3 == 0 {
		runtime.Gosched() // other clients run between the call and the return
	}
	out := f()
	end := h.clock.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{ClientId: in.client, Input: in, Call: call, Output: out, Return: end})
}

// together runs clients concurrently, and returns when all are done.
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

// linearizable checks several histories that play makes. rejected expects that one of several is
// not linearizable: a check that accepts every mistake is useless.
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
