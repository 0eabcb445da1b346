package alarm_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/alarm"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// A sleeper is a task that moves its deadlines at random, and looks at them when its alarm
// has rung. The clock is virtual, and goes to the next timer while nothing can run.
type sleeper struct {
	rt    *sched.Runtime
	task  sched.Task
	alarm alarm.Alarm
	rand  *rand.Rand
	at    [3]time.Duration // the deadlines; 0: none
	moves int              // how many are left
	runs  int
	wrong []string
	over  chan struct{}
}

// late is how long after its time a timer may fire: timers count in milliseconds.
const late = time.Millisecond

func (s *sleeper) Run(cx *sched.Context) (done bool) {
	s.runs++
	now := s.rt.Now()
	if s.alarm.Rang() {
		for i, at := range s.at {
			if at != 0 && now >= at {
				s.at[i] = 0
			}
		}
		if s.alarm.Rang() {
			s.wrong = append(s.wrong, "it rang twice")
		}
	}
	for _, at := range s.at {
		if at != 0 && now > at+late {
			s.wrong = append(s.wrong, "missed "+at.String()+" at "+now.String())
		}
	}
	again := false
	for ; s.moves > 0 && s.rand.IntN(3) > 0; s.moves-- {
		i := s.rand.IntN(len(s.at))
		switch s.rand.IntN(5) {
		case 0:
			s.at[i] = 0
		case 1: // it has passed already
			s.at[i] = max(1, now)
		case 2:
			s.alarm.Stop(s.rt)
		default:
			s.at[i] = now + time.Duration(s.rand.Int64N(int64(20*time.Millisecond)))
		}
		again = s.rand.IntN(2) == 0
	}
	next := alarm.Earliest(s.at[:]...)
	if next == 0 && s.moves == 0 {
		s.alarm.Stop(s.rt)
		close(s.over)
		return true
	}
	s.alarm.Set(s.rt, next, s.task.Waker())
	if again || next == 0 {
		cx.Wake(s.task.Waker())
	}
	return false
}

// sleep makes the moves of a sleeper.
func sleep(t *testing.T, seed uint64, moves int) {
	t.Helper()
	rt := sched.New(sched.Config{Workers: 1, Paused: true})
	require.NoError(t, rt.Start())
	s := &sleeper{rt: rt, rand: rand.New(rand.NewPCG(seed, 1)), moves: moves, over: make(chan struct{})}
	s.task.Init(rt, s)
	s.task.Wake()
	conntest.Receive(t, s.over)
	require.NoError(t, rt.Close())
	require.Empty(t, s.wrong, "seed %d", seed)
}

func TestAnAlarmRingsByTheEarliestDeadline(t *testing.T) {
	for seed := range uint64(20) {
		sleep(t, seed, 200)
	}
}

func TestADeadlineThatMovesLaterIsOnlyStored(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 1, Paused: true})
	rt.HoldClock()
	defer rt.ReleaseClock()
	require.NoError(t, rt.Start())
	ran := make(chan bool, 10)
	var a alarm.Alarm
	var task sched.Task
	task.Init(rt, body(func() { ran <- a.Rang() }))
	require.False(t, a.Rang(), "it was never set")
	a.Set(rt, 0, task.Waker())
	a.Set(rt, 10*time.Millisecond, task.Waker())
	a.Set(rt, time.Hour, task.Waker())
	a.Set(rt, 0, task.Waker())
	require.False(t, a.Rang())
	rt.Advance(10 * time.Millisecond)
	require.True(t, conntest.Receive(t, ran))
	require.False(t, a.Rang(), "it is told once")

	a.Set(rt, time.Hour, task.Waker())
	a.Set(rt, 20*time.Millisecond, task.Waker())
	rt.Advance(10 * time.Millisecond)
	require.True(t, conntest.Receive(t, ran))

	a.Set(rt, 30*time.Millisecond, task.Waker())
	a.Stop(rt)
	rt.Advance(time.Hour)
	require.Empty(t, ran)
	a.Set(rt, 1, task.Waker()) // it has passed
	require.True(t, conntest.Receive(t, ran))
	require.NoError(t, rt.Close())
}

// body is a task that never ends.
type body func()

func (b body) Run(*sched.Context) bool {
	b()
	return false
}

func TestEarliestKnowsNone(t *testing.T) {
	require.Zero(t, alarm.Earliest())
	require.Zero(t, alarm.Earliest(0, 0))
	require.Equal(t, time.Duration(2), alarm.Earliest(0, 3, 2, 0, 5))
}

func FuzzAlarm(f *testing.F) {
	f.Add(uint64(1), uint8(10))
	f.Fuzz(func(t *testing.T, seed uint64, moves uint8) { sleep(t, seed, int(moves)) })
}
