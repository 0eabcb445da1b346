package syncx_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/syncx"
)

// A call is an operation that takes, tries or gives back a number of permits, perhaps for writing.
type call struct {
	kind  callKind
	n     int
	write bool
}

type callKind int

const (
	take callKind = iota
	try
	back
)

// A subject is a primitive under test. Take never fails.
type subject interface {
	take(c call) sched.Future[struct{}]
	try(c call) bool
	back(c call)
}

type mutexSubject struct{ mu syncx.Mutex }

func (s *mutexSubject) take(call) sched.Future[struct{}] { return s.mu.LockFuture() }
func (s *mutexSubject) try(call) bool                    { return s.mu.TryLock() }
func (s *mutexSubject) back(call)                        { s.mu.Unlock() }

type rwSubject struct{ rw syncx.RWMutex }

func (s *rwSubject) take(c call) sched.Future[struct{}] {
	if c.write {
		return s.rw.LockFuture()
	}
	return s.rw.RLockFuture()
}

func (s *rwSubject) try(c call) bool {
	if c.write {
		return s.rw.TryLock()
	}
	return s.rw.TryRLock()
}

func (s *rwSubject) back(c call) {
	if c.write {
		s.rw.Unlock()
	} else {
		s.rw.RUnlock()
	}
}

type semaphoreSubject struct{ s *syncx.Semaphore }

func (s semaphoreSubject) take(c call) sched.Future[struct{}] { return s.s.AcquireFuture(c.n) }
func (s semaphoreSubject) try(c call) bool                    { return s.s.TryAcquire(c.n) }
func (s semaphoreSubject) back(c call)                        { s.s.Release(c.n) }

// permits is the number of permits of the semaphores here.
const permits = 3

// The state of a model is the number of permits that are taken. For a lock these are its readers,
// and a writer counts as all of them.
func model(all int, share func(c call) int, tryIsExact bool) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return 0 },
		Step: func(state, input, output any) (bool, any) {
			out, c := state.(int), input.(call)
			n := share(c)
			switch {
			case c.kind == back:
				return out >= n, out - n
			case c.kind == try && !output.(bool):
				return !tryIsExact || out+n > all, out
			default:
				return out+n <= all, out + n
			}
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v → %v", input, output) },
	}
}

// linearizable lists the primitives under test, each with its model and a wrong implementation.
var linearizable = map[string]struct {
	model porcupine.Model
	right func() subject
	wrong func() subject
}{
	"Mutex": {
		// Nobody gives up here, so a waiter that the lock is handed over to has it.
		model(1, func(call) int { return 1 }, true),
		func() subject { return new(mutexSubject) },
		func() subject { return alwaysOne{semaphoreSubject{syncx.NewSemaphore(2)}} },
	},
	"RWMutex": {
		model(1000, func(c call) int {
			if c.write {
				return 1000
			}
			return 1
		}, false), // a try does not overtake waiters
		func() subject { return new(rwSubject) },
		func() subject { return writesAsReader{new(rwSubject)} },
	},
	"Semaphore": {
		model(permits, func(c call) int { return c.n }, false), // a try does not overtake waiters here, either
		func() subject { return semaphoreSubject{syncx.NewSemaphore(permits)} },
		func() subject { return forgetsOne{semaphoreSubject{syncx.NewSemaphore(permits)}} },
	},
}

// alwaysOne is a mutex that two can hold.
type alwaysOne struct{ subject }

func (s alwaysOne) take(call) sched.Future[struct{}] { return s.subject.take(call{n: 1}) }
func (s alwaysOne) try(call) bool                    { return s.subject.try(call{n: 1}) }
func (s alwaysOne) back(call)                        { s.subject.back(call{n: 1}) }

// writesAsReader is an RWMutex whose writers let readers in.
type writesAsReader struct{ subject }

func (s writesAsReader) take(call) sched.Future[struct{}] { return s.subject.take(call{}) }
func (s writesAsReader) try(call) bool                    { return s.subject.try(call{}) }
func (s writesAsReader) back(call)                        { s.subject.back(call{}) }

// forgetsOne is a semaphore that takes one less than it should.
type forgetsOne struct{ subject }

func (s forgetsOne) take(c call) sched.Future[struct{}] { return s.subject.take(call{n: c.n - 1}) }
func (s forgetsOne) try(c call) bool                    { return s.subject.try(call{n: c.n - 1}) }
func (s forgetsOne) back(c call)                        { s.subject.back(call{n: c.n - 1}) }

// A client takes and gives back, and records its operations.
type client struct {
	id      int
	clock   *atomic.Int64
	subject subject
	random  *rand.Rand
	left    int
	history []porcupine.Operation

	current call                   // the call in progress
	began   int64                  // when it began
	future  sched.Future[struct{}] // the future it waits for; nil: none
	has     bool                   // the permits that current has taken
}

// step goes on until the client has to wait for future, or is done. Every other time it keeps its
// permits while others run.
func (c *client) step(poll func(f sched.Future[struct{}]) error) error {
	for c.left > 0 || c.future != nil || c.has {
		if c.future != nil {
			if err := poll(c.future); err != nil {
				return err
			}
			c.future = nil
			if !c.has {
				c.got()
				continue
			}
		}
		if c.has {
			c.has = false
			c.current.kind, c.began = back, c.clock.Add(1)
			c.subject.back(c.current)
			c.note(true)
			continue
		}
		c.left--
		c.current = call{kind: callKind(c.random.IntN(2)), n: 1 + c.random.IntN(permits), write: c.random.IntN(3) == 0}
		c.began = c.clock.Add(1)
		switch {
		case c.current.kind == take:
			c.future = c.subject.take(c.current)
		case c.subject.try(c.current):
			c.got()
		default:
			c.note(false)
		}
	}
	return nil
}

func (c *client) got() {
	c.note(true)
	c.has = true
	if c.random.IntN(2) == 0 {
		c.future = sched.Yield()
	}
}

func (c *client) note(output bool) {
	c.history = append(c.history, porcupine.Operation{
		ClientId: c.id, Input: c.current, Call: c.began, Output: output, Return: c.clock.Add(1),
	})
}

func (c *client) op() op {
	return op{
		future: func() sched.Future[struct{}] {
			return sched.FutureFunc[struct{}](func(cx *sched.Context) (struct{}, error) {
				return struct{}{}, c.step(func(f sched.Future[struct{}]) error { _, err := f.Poll(cx); return err })
			})
		},
		wait: func(ctx context.Context) error {
			return c.step(func(f sched.Future[struct{}]) error { _, err := sched.Await(ctx, f); return err })
		},
	}
}

// record runs clients in all forms, and returns their records.
func record(t *testing.T, rt *sched.Runtime, s subject, seed uint64) (history []porcupine.Operation) {
	t.Helper()
	var clock atomic.Int64
	var clients []*client
	var all []*wait
	for i := range 6 {
		c := &client{id: i, clock: &clock, subject: s, random: rand.New(rand.NewPCG(seed, uint64(i))), left: 40}
		clients = append(clients, c)
		all = append(all, c.op().begin(rt, forms[i%len(forms)], nothing))
	}
	for i, w := range all {
		require.NoError(t, w.result(t))
		history = append(history, clients[i].history...)
	}
	return history
}

func TestHistoriesAreLinearizable(t *testing.T) {
	for name, l := range linearizable {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, rt *sched.Runtime) {
				for seed := range uint64(rounds(50)) {
					history := record(t, rt, l.right(), seed)
					require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(l.model, history, patience), "seed %d", seed)
				}
			})
		})
	}
}

// The checkers must reject each of these implementations, sooner or later.
func TestHistoriesOfWhatIsWrongAreNotLinearizable(t *testing.T) {
	for name, l := range linearizable {
		t.Run(name, func(t *testing.T) {
			rt := start(t, sched.Config{Workers: 2})
			deadline := time.Now().Add(patience)
			for seed := uint64(0); ; seed++ {
				history := record(t, rt, l.wrong(), seed)
				if porcupine.CheckOperationsTimeout(l.model, history, patience) == porcupine.Illegal {
					t.Logf("rejected with seed %d", seed)
					return
				}
				require.True(t, time.Now().Before(deadline), "not rejected")
			}
		})
	}
}
