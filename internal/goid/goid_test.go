package goid

import (
	"iter"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// deep calls f on a stack that has grown since.
func deep(n int, f func()) {
	var room [1 << 10]byte
	if n == 0 {
		f()
		return
	}
	deep(n-1, f)
	depth += int(room[n])
}

var depth int

func TestAGoroutineKeepsItsIdentity(t *testing.T) {
	g, n := Get(), Number()
	require.NotZero(t, g)
	deep(100, func() {
		require.Equal(t, g, Get())
		require.Equal(t, n, Number())
	})
}

func TestGoroutinesAtTheSameTimeDiffer(t *testing.T) {
	const count = 100
	var begun, done sync.WaitGroup
	begun.Add(count)
	var all, numbers sync.Map
	for range count {
		done.Go(func() {
			all.Store(Get(), true)
			numbers.Store(Number(), true)
			begun.Done()
			begun.Wait()
		})
	}
	done.Wait()
	for _, m := range []*sync.Map{&all, &numbers} {
		n := 0
		m.Range(func(any, any) bool { n++; return true })
		require.Equal(t, count, n)
	}
}

func TestACoroutineIsAnotherGoroutine(t *testing.T) {
	next, stop := iter.Pull(func(yield func(uintptr) bool) {
		for yield(Get()) {
		}
	})
	defer stop()
	first, _ := next()
	require.NotEqual(t, Get(), first)
	second, _ := next()
	require.Equal(t, first, second)
}

func BenchmarkGet(b *testing.B) {
	for b.Loop() {
		_ = Get()
	}
}
