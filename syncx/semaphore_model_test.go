package syncx_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/syncx"
)

// A semaphoreModel is a counter and a list.
type semaphoreModel struct {
	free   int
	closed bool
	list   []*modelWaiter
}

type modelWaiter struct {
	future sched.Future[struct{}]
	need   int // what it still needs
	got    int
}

func (m *semaphoreModel) acquire(n int) (ok, waits bool) {
	switch {
	case m.closed:
		return false, false
	case m.free >= n:
		m.free -= n
		return true, false
	default:
		return false, true
	}
}

func (m *semaphoreModel) release(n int) {
	m.free += n
	for m.free > 0 && len(m.list) > 0 {
		w := m.list[0]
		some := min(m.free, w.need)
		m.free, w.need, w.got = m.free-some, w.need-some, w.got+some
		if w.need == 0 {
			m.list = m.list[1:]
		}
	}
}

// A modelRun applies the same operations to a semaphore and its model.
type modelRun struct {
	*rand.Rand
	semaphoreModel
	s       *syncx.Semaphore
	futures []*modelWaiter // futures that wait, or that have their permits and have not been polled since
	refused int
	wrong   string
}

func (r *modelRun) check(ok bool, what string) {
	if !ok && r.wrong == "" {
		r.wrong = what
	}
}

func (r *modelRun) step(cx *sched.Context) {
	n := 1 + r.IntN(5)
	switch what := r.IntN(100); {
	case what < 30:
		r.begin(cx, n)
	case what < 40:
		ok, _ := r.acquire(n)
		r.check(r.s.TryAcquire(n) == ok, "TryAcquire")
	case what < 65:
		r.s.Release(n)
		r.release(n)
	case what < 80 && len(r.futures) > 0:
		r.poll(cx, r.IntN(len(r.futures)))
	case what < 95 && len(r.futures) > 0:
		r.cancel(r.IntN(len(r.futures)))
	case r.IntN(20) == 0:
		r.s.Close()
		r.closed = true
		for _, w := range r.list {
			r.free += w.got
		}
		r.list = nil
	}
	r.check(r.s.Available() == r.free, "Available")
	r.check(r.s.Waiters() == len(r.list), "those who wait")
	if r.closed && r.IntN(20) == 0 {
		for len(r.futures) > 0 {
			r.poll(cx, 0)
		}
		r.renew()
	}
}

func (r *modelRun) renew() {
	n := r.IntN(10)
	r.semaphoreModel, r.s, r.futures = semaphoreModel{free: n}, syncx.NewSemaphore(n), nil
}

func (r *modelRun) begin(cx *sched.Context, n int) {
	w := &modelWaiter{future: r.s.AcquireFuture(n), need: n}
	ok, waits := r.acquire(n)
	_, err := w.future.Poll(cx)
	switch {
	case ok:
		r.check(err == nil, "an acquisition that need not wait")
	case waits:
		r.check(err == sched.ErrPending, "an acquisition that has to wait")
		w.need, w.got, r.free = n-r.free, r.free, 0
		r.list = append(r.list, w)
		r.futures = append(r.futures, w)
	default:
		r.check(errors.Is(err, syncx.ErrClosed), "an acquisition of what is closed")
	}
}

func (r *modelRun) poll(cx *sched.Context, i int) {
	w := r.futures[i]
	_, err := w.future.Poll(cx)
	switch {
	case w.need == 0:
		r.check(err == nil, "a poll of what has been granted")
	case r.closed:
		r.check(errors.Is(err, syncx.ErrClosed), "a poll of what was refused")
		r.refused++
	default:
		r.check(err == sched.ErrPending, "a poll of what waits")
		return
	}
	r.futures = slices.Delete(r.futures, i, i+1)
}

func (r *modelRun) cancel(i int) {
	w := r.futures[i]
	r.futures = slices.Delete(r.futures, i, i+1)
	abandon(w.future)
	at := slices.Index(r.list, w)
	if at >= 0 {
		r.list = slices.Delete(r.list, at, at+1)
	}
	if at >= 0 || w.need == 0 { // not refused: those had it taken from them
		r.release(w.got)
	}
}

func TestASemaphoreIsACounterAndAList(t *testing.T) {
	rt := start(t, sched.Config{Workers: 1})
	const seeds = 20
	refused := 0
	for seed := range uint64(seeds) {
		r := &modelRun{Rand: rand.New(rand.NewPCG(seed, 1))}
		r.renew()
		at := 0
		run := sched.FutureFunc[int](func(cx *sched.Context) (int, error) {
			for ; at < rounds(1_000_000)/seeds && r.wrong == ""; at++ {
				r.step(cx)
			}
			return 0, nil
		})
		_, err := outcome(t, sched.Spawn(rt, sched.Unconstrained(sched.Future[int](run))))
		require.NoError(t, err)
		require.Empty(t, r.wrong, "seed %d, operation %d", seed, at)
		refused += r.refused
	}
	require.NotZero(t, refused)
}
