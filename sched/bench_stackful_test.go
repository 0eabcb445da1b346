package sched_test

import (
	"context"
	"iter"
	"runtime"
	"testing"

	"github.com/suiro-go/suiro/sched"
)

// An again is pending once for each Await, and wakes its task at once.
type again struct{ pending bool }

func (a *again) Poll(cx *sched.Context) (struct{}, error) {
	a.pending = !a.pending
	if a.pending {
		cx.Wake(cx.Waker())
		return struct{}{}, sched.ErrPending
	}
	return struct{}{}, nil
}

// Measures an Await of a stackful task and its resumption. For comparison it measures a pair of
// bare switches of iter.Pull. Both run on a plain goroutine, as workers without I/O do, and on one
// that is locked to its thread, where Go's switch costs more.
func BenchmarkStackfulSwitch(b *testing.B) {
	b.Run("await", func(b *testing.B) { awaitMany(b, start(b, sched.Config{Workers: 1})) })
	b.Run("pull", func(b *testing.B) { pullMany(b) })
	b.Run("await-locked", func(b *testing.B) {
		rt, _ := startFakes(b, sched.Config{Workers: 1})
		awaitMany(b, rt)
	})
	b.Run("pull-locked", func(b *testing.B) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		pullMany(b)
	})
}

func awaitMany(b *testing.B, rt *sched.Runtime) {
	b.ReportAllocs()
	_, err := sched.Go(rt, func(cx *sched.Context) (int, error) {
		f := sched.Future[struct{}](new(again))
		for range b.N {
			if _, err := sched.Await(cx, f); err != nil {
				return 0, err
			}
		}
		return 0, nil
	}).Wait(context.Background())
	if err != nil {
		b.Fatal(err)
	}
}

func pullMany(b *testing.B) {
	b.ReportAllocs()
	next, stop := iter.Pull(func(yield func(struct{}) bool) {
		for yield(struct{}{}) {
		}
	})
	defer stop()
	for range b.N {
		next()
	}
}
