package queue

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

func runtime(t *testing.T) *sched.Runtime {
	rt := sched.New(sched.Config{Workers: 1})
	require.NoError(t, rt.Start())
	t.Cleanup(func() { require.NoError(t, rt.Close()) })
	return rt
}

// takes is a task that awaits an item; looks false: it does not look again once it is woken.
func takes(rt *sched.Runtime, q *Queue[int], p *Place, looks bool) *sched.JoinHandle[State] {
	polled := false
	return sched.Spawn(rt, sched.FutureFunc[State](func(cx *sched.Context) (State, error) {
		if polled && !looks {
			return Empty, nil
		}
		polled = true
		_, s := q.Poll(p, cx.Waker())
		if s == Empty {
			return s, sched.ErrPending
		}
		return s, nil
	}))
}

func TestItemsAreTakenInTheirOrder(t *testing.T) {
	var q Queue[int]
	_, s := q.Try()
	require.Equal(t, Empty, s)
	for i := range 3 {
		require.True(t, q.Push(i))
	}
	require.Equal(t, 3, q.Len())
	v, s := q.Try()
	require.Equal(t, 0, v)
	require.Equal(t, Taken, s)
	v, s, _ = q.Take(nil)
	require.Equal(t, 1, v)
	require.Equal(t, Taken, s)
	left, open := q.Close()
	require.True(t, open)
	require.Equal(t, []int{2}, left)
}

func TestAClosedQueueTakesNothingAndWakesAll(t *testing.T) {
	var q Queue[int]
	rt := runtime(t)
	ended := make(chan State, 2)
	for range 2 {
		go func() { _, s, _ := q.Take(nil); ended <- s }()
	}
	task := takes(rt, &q, new(Place), true)
	conntest.Eventually(t, func() bool { return q.Waiting() == 3 })
	left, open := q.Close()
	require.True(t, open)
	require.Empty(t, left)
	for range 2 {
		require.Equal(t, Closed, conntest.Receive(t, ended))
	}
	s, err := task.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, Closed, s)
	require.False(t, q.Push(1))
	_, open = q.Close()
	require.False(t, open)
}

func TestATakeEndsWhenItIsDone(t *testing.T) {
	var q Queue[int]
	done, ended := make(chan struct{}), make(chan State)
	go func() { _, s, _ := q.Take(done); ended <- s }()
	conntest.Eventually(t, func() bool { return q.Waiting() == 1 })
	close(done)
	require.Equal(t, Empty, conntest.Receive(t, ended))
	require.Zero(t, q.Waiting())
	require.True(t, q.Push(1))
	v, s, _ := q.Take(done)
	require.Equal(t, Taken, s, "an item is taken before done counts")
	require.Equal(t, 1, v)
}

// One that was woken and gives up before it has looked wakes the next.
func TestAPlaceThatIsGivenUpOnceWokenWakesTheNext(t *testing.T) {
	var q Queue[int]
	rt := runtime(t)
	var first Place
	idle := takes(rt, &q, &first, false)
	conntest.Eventually(t, func() bool { return q.Waiting() == 1 })
	second := takes(rt, &q, new(Place), true)
	conntest.Eventually(t, func() bool { return q.Waiting() == 2 })
	q.Push(1)
	_, err := idle.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, q.Waiting())
	require.Equal(t, 1, q.Len())
	require.True(t, q.GiveUp(&first))
	s, err := second.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, Taken, s)
}

func TestAPlaceThatNobodyHasWokenIsLeft(t *testing.T) {
	var q Queue[int]
	rt := runtime(t)
	var p Place
	task := takes(rt, &q, &p, true)
	conntest.Eventually(t, func() bool { return q.Waiting() == 1 })
	require.False(t, q.GiveUp(&p))
	require.Zero(t, q.Waiting())
	task.Abort()
}

// A task may be polled for another reason, and find an item for which another one was woken.
func TestATaskThatTakesAnItemWaitsNoMore(t *testing.T) {
	var q Queue[int]
	rt := runtime(t)
	idle := takes(rt, &q, new(Place), false)
	conntest.Eventually(t, func() bool { return q.Waiting() == 1 })
	var second Place
	_, s := q.Poll(&second, sched.Waker{})
	require.Equal(t, Empty, s)
	require.Equal(t, 2, q.Waiting())
	q.Push(1)
	_, err := idle.Wait(t.Context())
	require.NoError(t, err)
	v, s := q.Poll(&second, sched.Waker{})
	require.Equal(t, Taken, s)
	require.Equal(t, 1, v)
	require.Zero(t, q.Waiting())
}

// Each item is taken once, by goroutines that wait or give up and by tasks.
func TestEachItemIsTakenOnce(t *testing.T) {
	const items = 2000
	var q Queue[int]
	var taken [items]atomic.Int32
	var all sync.WaitGroup
	rt := runtime(t)
	for i := range 4 {
		all.Go(func() {
			for {
				done := make(chan struct{})
				if i%2 == 0 {
					go close(done) // it gives up at any moment
				}
				v, s, _ := q.Take(done)
				switch s {
				case Closed:
					return
				case Taken:
					taken[v].Add(1)
				}
			}
		})
	}
	var tasks []*sched.JoinHandle[State]
	for range items / 4 {
		tasks = append(tasks, takes(rt, &q, new(Place), true))
	}
	for i := range items {
		q.Push(i)
	}
	conntest.Eventually(t, func() bool { return q.Len() == 0 })
	q.Close()
	all.Wait()
	byTasks, byOthers := 0, 0
	for _, task := range tasks {
		s, err := task.Wait(t.Context())
		require.NoError(t, err)
		if s == Taken {
			byTasks++
		}
	}
	for i := range taken {
		n := int(taken[i].Load())
		require.LessOrEqual(t, n, 1)
		byOthers += n
	}
	require.Equal(t, items, byTasks+byOthers)
}
