package sched_test

import (
	"bytes"
	"context"
	"encoding/json"
	"runtime/trace"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

func TestEventsAreOffByDefault(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 1})
	defer rt.Close()
	_, err := sched.Go(rt, func(*sched.Context) (int, error) { return 1, nil }).Wait(context.Background())
	require.NoError(t, err)
	require.Nil(t, rt.Events())
}

// A task spawns another one and waits for it: each step is an event, in its order.
func TestEventsOfATaskThatSpawnsAndWaits(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 1, Events: 1000})
	defer rt.Close()
	before := rt.Now()
	h := sched.Go(rt, func(cx *sched.Context) (int, error) {
		child := sched.Go(cx, func(*sched.Context) (int, error) { return 1, nil })
		return sched.Await(cx, child)
	})
	_, err := h.Wait(context.Background())
	require.NoError(t, err)
	var kinds []sched.EventKind
	byTask := map[uint64][]sched.EventKind{}
	require.Eventually(t, func() bool { // the end of the last run may not be recorded yet
		kinds, byTask = nil, map[uint64][]sched.EventKind{}
		for _, e := range rt.Events() {
			require.Zero(t, e.Worker)
			require.GreaterOrEqual(t, e.At, before)
			require.LessOrEqual(t, e.At, rt.Now())
			if e.Task != 0 {
				kinds = append(kinds, e.Kind)
				byTask[e.Task] = append(byTask[e.Task], e.Kind)
			}
		}
		return len(kinds) == 9
	}, 30*time.Second, time.Millisecond)
	const spawn, run, end, wake = sched.EventSpawn, sched.EventRun, sched.EventRunEnd, sched.EventWake
	require.Equal(t, []sched.EventKind{run, spawn, wake, end, run, end, wake, run, end}, kinds)
	require.Len(t, byTask, 2)
}

func TestARingKeepsTheLastEvents(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 1, Events: 64})
	defer rt.Close()
	for range 100 {
		_, err := sched.Go(rt, func(*sched.Context) (int, error) { return 1, nil }).Wait(context.Background())
		require.NoError(t, err)
	}
	all := rt.Events()
	require.LessOrEqual(t, len(all), 64)
	require.GreaterOrEqual(t, len(all), 32, "the worker may write over some meanwhile")
}

// A run that panics has an end.
func TestTheEventsOfAPanic(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 1, Events: 100})
	defer rt.Close()
	_, err := sched.Spawn(rt, panics{}).Wait(context.Background())
	require.Error(t, err)
	pass(t, rt, 0) // then the end of the run is recorded
	var kinds []sched.EventKind
	for _, e := range rt.Events() {
		if e.Task != 0 {
			kinds = append(kinds, e.Kind)
		}
	}
	require.Greater(t, len(kinds), 2, "pass has a task too")
	require.Equal(t, []sched.EventKind{sched.EventRun, sched.EventRunEnd}, kinds[:2])
}

type panics struct{}

func (panics) Poll(*sched.Context) (int, error) { panic("on purpose") }

func TestATraceInTheFormOfPerfetto(t *testing.T) {
	events := []sched.Event{
		{At: 1000, Kind: sched.EventPark}, {At: 3000, Kind: sched.EventUnpark}, {At: 3000, Kind: sched.EventPoll, N: 2},
		{At: 4000, Kind: sched.EventRun, Task: 7}, {At: 4500, Kind: sched.EventWake, Task: 8}, {At: 6000, Kind: sched.EventRunEnd, Task: 7},
		{At: 7000, Kind: sched.EventRun, Task: 9, Worker: 1}, {At: 9000, Kind: sched.EventSteal, N: 3},
	}
	var text bytes.Buffer
	require.NoError(t, sched.WriteTrace(&text, events, func(task uint64) string {
		if task == 7 {
			return `serve "a"`
		}
		return ""
	}))
	var trace struct {
		TraceEvents []struct {
			Name, Cat, Ph string
			TS, Dur       float64
			PID, TID      int
			Args          map[string]any
		}
	}
	require.NoError(t, json.Unmarshal(text.Bytes(), &trace))
	var got []string
	for _, e := range trace.TraceEvents {
		line, err := json.Marshal([]any{e.Name, e.Ph, e.TS, e.Dur, e.TID})
		require.NoError(t, err)
		got = append(got, string(line))
	}
	require.Equal(t, []string{
		`["thread_name","M",0,0,0]`, `["park","X",1,2,0]`, `["poll","i",3,0,0]`, `["wake","i",4.5,0,0]`, `["serve \"a\"","X",4,2,0]`,
		`["thread_name","M",0,0,1]`, `["steal","i",9,0,0]`, `["task 0x9","X",7,2,1]`,
	}, got)
	require.ErrorIs(t, sched.WriteTrace(failing{}, events, nil), errDisk)
}

// While Go's own trace runs, it has a region for each run of a task.
func TestEventsAreRegionsOfGosTrace(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("the test is being traced")
	}
	rt := sched.New(sched.Config{Workers: 1, Events: 100})
	defer rt.Close()
	var text bytes.Buffer
	require.NoError(t, trace.Start(&text))
	h := sched.Go(rt, func(cx *sched.Context) (int, error) {
		return sched.Await(cx, sched.Go(cx, func(*sched.Context) (int, error) { return 1, nil }))
	})
	_, err := h.Wait(context.Background())
	trace.Stop()
	require.NoError(t, err)
	require.Contains(t, text.String(), "suiro spawn")
	require.Contains(t, text.String(), "task")
}
