package sched_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/suiro-go/suiro/sched"
)

// A mailbox is a task to which goroutines give numbers. A run after the wake-up must see each
// number. Every second mailbox is pinned.
type mailbox struct {
	task      sched.Task
	published atomic.Int64

	mu   sync.Mutex
	seen int64
	cond sync.Cond
}

func newMailbox(rt *sched.Runtime, home int) *mailbox {
	m := new(mailbox)
	m.cond.L = &m.mu
	m.task.Init(rt, m)
	if home%2 == 0 {
		m.task.Pin(home / 2)
	}
	return m
}

func (m *mailbox) Run(*sched.Context) bool {
	v := m.published.Load()
	m.mu.Lock()
	m.seen = v
	m.mu.Unlock()
	m.cond.Broadcast()
	return false
}

func (m *mailbox) await(v int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.seen < v {
		m.cond.Wait()
	}
}

// onEndless runs a test in which only a wake-up ends a wait, in any phase, so that a lost one
// hangs.
func onEndless(t *testing.T, test func(t *testing.T, rt *sched.Runtime)) {
	for _, workers := range []int{1, 2, 4} {
		for name, c := range map[string]struct {
			hold    time.Duration
			endless bool
		}{
			"in hold":            {hold: 0, endless: true},
			"in block":           {hold: -1},
			"from hold to block": {hold: time.Microsecond},
		} {
			t.Run(fmt.Sprintf("%s/%d", name, workers), func(t *testing.T) {
				fakes := make([]*fake, workers)
				for i := range fakes {
					fakes[i] = newFake()
					fakes[i].endless = c.endless
				}
				test(t, startOn(t, sched.Config{Hold: c.hold}.Endless(), fakes))
			})
		}
		t.Run(fmt.Sprintf("sleeper/%d", workers), func(t *testing.T) {
			test(t, start(t, sched.Config{Workers: workers}.Endless()))
		})
	}
}

func TestEveryWakeIsSeenByALaterRun(t *testing.T) {
	onEndless(t, func(t *testing.T, rt *sched.Runtime) {
		const tasks, goroutines = 6, 4
		boxes := make([]*mailbox, tasks)
		for i := range boxes {
			boxes[i] = newMailbox(rt, i)
		}
		var wakers sync.WaitGroup
		for g := range goroutines {
			wakers.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(g), 1))
				for range rounds(500) {
					m := boxes[rng.IntN(tasks)]
					v := m.published.Add(1)
					m.task.Wake()
					if rng.IntN(4) > 0 { // otherwise the next one follows closely
						m.await(v)
					}
				}
			})
		}
		awaitAll(t, &wakers)
		for _, m := range boxes {
			var last sync.WaitGroup
			last.Go(func() { m.await(m.published.Load()) })
			awaitAll(t, &last)
		}
	})
}

func awaitAll(t *testing.T, wg *sync.WaitGroup) {
	t.Helper()
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	receive(t, "goroutines end", done)
}
