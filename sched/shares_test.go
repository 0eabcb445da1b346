package sched

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stackless starts a task that computes for d in each run, and is always ready to run.
func (m *machine) stackless(c class, i int, d time.Duration, pinned bool) {
	t := new(Task)
	t.Init(m.rt, bodyFunc(func(cx *Context) bool {
		if !m.compute(cx, c, d) {
			return true
		}
		cx.Wake(cx.Waker())
		return false
	}))
	if pinned {
		t.Pin(i)
	}
	t.WakeOn(i)
}

// stackful is stackless for a task of Go.
func (m *machine) stackful(c class, d time.Duration) {
	Go(m.rt, func(cx *Context) (int, error) {
		for m.compute(cx, c, d) {
			if _, err := Await(cx, Yield()); err != nil {
				return 0, err
			}
		}
		return 0, nil
	}).Detach()
}

// share is the part of light tasks in the computing time between the ends of two heavy runs. By
// the first end the runtime has found which tasks are heavy.
func (m *machine) share(from, to int) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.done) <= to {
		m.changed.Wait()
	}
	l, h := m.done[to][light]-m.done[from][light], m.done[to][heavy]-m.done[from][heavy]
	return float64(l) / float64(l+h)
}

// Light tasks that always have work get at least half of the computing time, and heavy tasks that
// always have work at least a quarter. It is a quarter with one worker whose spare is always in
// service. The upper bound allows for one more light run after each heavy one. The lower one allows
// for a heavy run of each other worker and spare that began before the time that counts.
func TestSharesOfLightAndHeavyTasks(t *testing.T) {
	type machineOf struct{ cpus, workers, spares int }
	var machines []machineOf
	for _, m := range [][2]int{{1, 1}, {2, 1}, {2, 2}} {
		for _, spares := range []int{0, 1, 4} {
			machines = append(machines, machineOf{m[0], m[1], spares})
		}
	}
	heavies := []time.Duration{2 * time.Millisecond, 20 * time.Millisecond, 300 * time.Millisecond}
	if testing.Short() || Slow {
		heavies = heavies[1:2]
	}
	for name, kind := range map[string]struct {
		moves, bound    bool
		lights, heavies func(m *machine, c class, i int, d time.Duration)
	}{
		"stackless":       {true, false, free, free},
		"pinned":          {true, true, pinned, pinned},
		"heavy pinned":    {true, false, free, pinned},
		"light pinned":    {true, true, pinned, free},
		"stackful":        {false, true, stackful, stackful},
		"stackful, moves": {true, false, stackful, stackful},
	} {
		for _, of := range machines {
			if of.spares > 0 && kind.bound {
				continue // a task that has begun on a spare stays there, beside others or alone
			}
			for _, d := range heavies {
				t.Run(fmt.Sprintf("%s/%+v/%v", name, of, d), func(t *testing.T) {
					m := newMachine(t, of.cpus, of.workers, of.spares, kind.moves)
					defer m.stop(t)
					for i := range 8 {
						kind.lights(m, light, i, min(d/40, 150*time.Microsecond))
					}
					for i := range 4 {
						kind.heavies(m, heavy, i, d)
					}
					runs, others := 20*of.workers, of.workers+of.spares-1
					share := m.share(24, 24+runs)
					t.Logf("light %.3f", share)
					require.GreaterOrEqual(t, share, float64(runs-others)/float64(2*runs-others))
					require.LessOrEqual(t, share, 0.77)
				})
			}
		}
	}
}

func free(m *machine, c class, i int, d time.Duration)     { m.stackless(c, i, d, false) }
func pinned(m *machine, c class, i int, d time.Duration)   { m.stackless(c, i, d, true) }
func stackful(m *machine, c class, _ int, d time.Duration) { m.stackful(c, d) }
