package sched_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/sched"
)

func dumped(t *testing.T, rt *sched.Runtime) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, rt.Dump(&b))
	return b.String()
}

// blockUntil blocks its worker. The report must name it.
func blockUntil(release <-chan struct{}, entered chan<- bool) {
	entered <- true // here, so that its stack has this function from now on
	<-release
}

// All workers and spares are blocked, and the report is there nonetheless. It names the functions
// that block.
func TestADumpNamesWhatBlocksAllWorkers(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 2, Spares: 1})
	defer rt.Close()
	release, entered := make(chan struct{}), make(chan bool, 8)
	end := sync.OnceFunc(func() { close(release) })
	defer end() // else Close waits for ever after a failure
	var blocked []*sched.JoinHandle[int]
	for range 3 {
		blocked = append(blocked, sched.Go(rt, func(*sched.Context) (int, error) {
			blockUntil(release, entered)
			return 1, nil
		}))
	}
	for range 3 {
		select {
		case <-entered:
		case <-time.After(patience.Limit):
			t.Fatal("the spare does not run the third task\n" + dumped(t, rt))
		}
	}
	waits := sched.Go(rt, func(*sched.Context) (int, error) { return 2, nil })
	var text string
	eventually(t, "no lock is held", func() bool { // a goroutine may be off the processor within one
		text = dumped(t, rt)
		return !strings.Contains(text, "busy")
	})
	require.Regexp(t, `runtime: runs for \S+, 0 workers of 2 parked`, text)
	require.Regexp(t, `(?s)  worker 0: runs \S*TestADumpNames\S* for .*blockUntil\(.*  worker 1: runs \S*TestADumpNames\S* for .*blockUntil\(`, text)
	require.Regexp(t, `(?s)  spare worker in service 2: runs .*blockUntil\(`, text)
	require.Contains(t, text, "spawned tasks: 3 run, 1 are queued, 0 wait")
	end()
	for _, h := range append(blocked, waits) {
		_, err := h.Wait(context.Background())
		require.NoError(t, err)
	}
}

// waitHere waits in a function that the report must name.
func waitHere(cx *sched.Context) (struct{}, error) { return sched.Await(cx, sched.Sleep(time.Hour)) }

func TestADumpCountsTasksByWhatTheyWaitFor(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 2})
	defer rt.Close()
	started := make(chan bool, 4)
	for range 2 {
		sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
			started <- true
			return waitHere(cx)
		})
	}
	for range 3 {
		sched.Spawn(rt, sched.Sleep(time.Hour))
	}
	<-started
	<-started
	var text string
	eventually(t, "all wait", func() bool {
		text = dumped(t, rt)
		return strings.Contains(text, "spawned tasks: 0 run, 0 are queued, 5 wait") && strings.Contains(text, "2 workers of 2 parked")
	})
	require.Regexp(t, `     3  stackless, future \*sched\.\S+`, text)
	require.Regexp(t, `     2  sched_test\.waitHere, in sched_test\.TestADumpCounts`, text)
	require.Regexp(t, `timers: 5, the next one in (1h|59m)`, text)
}

func TestADumpOfARuntimeThatHasEnded(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 1})
	require.NoError(t, rt.Start())
	require.NoError(t, rt.Close())
	text := dumped(t, rt)
	require.Contains(t, text, "runtime: has ended for")
	require.Contains(t, text, "worker 0: has ended")
}

type failing struct{}

var errDisk = errors.New("disk full")

func (failing) Write([]byte) (int, error) { return 0, errDisk }

func TestADumpReturnsTheErrorOfItsWriter(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 1})
	defer rt.Close()
	require.ErrorIs(t, rt.Dump(failing{}), errDisk)
}

// Reports inspect tasks that are woken, aborted and ended meanwhile: no wake-up is lost, and the
// end of the runtime misses no task.
func TestDumpsBesideWakeUpsAbortsAndTheEnd(t *testing.T) {
	for range 20 {
		rt := sched.New(sched.Config{Workers: 2})
		quit := make(chan struct{})
		var dumps sync.WaitGroup
		dumps.Go(func() {
			for {
				select {
				case <-quit:
					return
				default:
					_ = rt.Dump(&bytes.Buffer{})
				}
			}
		})
		var all []*sched.JoinHandle[struct{}]
		for i := range 50 {
			h := sched.Spawn(rt, sched.Sleep(time.Duration(i%3+1)*time.Millisecond))
			if i%5 == 0 {
				h.Abort()
			}
			all = append(all, h)
		}
		endless := sched.Spawn(rt, sched.Sleep(time.Hour))
		begun, unwound := false, false
		sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
			begun = true
			defer func() { unwound = true }()
			return waitHere(cx)
		}).Detach()
		for i, h := range all {
			if _, err := h.Wait(context.Background()); err != nil {
				require.Zero(t, i%5)
				require.ErrorIs(t, err, sched.ErrCanceled)
			}
		}
		require.NoError(t, rt.Close())
		_, err := endless.Wait(context.Background())
		require.ErrorIs(t, err, sched.ErrClosed)
		require.Equal(t, begun, unwound)
		close(quit)
		dumps.Wait()
	}
}

// The runtime is told to end while a report inspects a task that waits. Its function goes on only
// after the report has left the task, and is then unwound. Until then the workers run other tasks.
func TestTheEndUnwindsATaskThatAReportInspects(t *testing.T) {
	for name, begin := range map[string]func(*sched.Runtime, func(*sched.Context) error) *sched.Task{
		"a task of Go": func(rt *sched.Runtime, fn func(*sched.Context) error) *sched.Task {
			return sched.TaskOf(sched.Go(rt, func(cx *sched.Context) (struct{}, error) { return struct{}{}, fn(cx) }))
		},
		"a body's coroutine": func(rt *sched.Runtime, fn func(*sched.Context) error) *sched.Task {
			h := newHost(rt, fn)
			h.task.Wake()
			return &h.task
		},
	} {
		t.Run(name, func(t *testing.T) {
			left := make(chan struct{})
			rt := start(t, sched.Config{Workers: 1, Hooks: sched.Hooks{WorkerStop: func(int) { close(left) }}})
			var unwound atomic.Bool
			task := begin(rt, func(cx *sched.Context) error {
				defer unwound.Store(true)
				_, err := waitHere(cx)
				return err
			})
			atRest(t, rt)
			closed := make(chan error, 1)
			require.True(t, rt.Inspect(task, func() {
				go func() { closed <- rt.Close() }()
				eventually(t, "Close waits for the report", func() bool { return strings.Contains(stacks(), "(*inspections).end(") })
				for range 2 * ticksRuns { // so that a worker that was told to stop does
					ran := make(chan struct{})
					freeTask(rt, func(*sched.Context) bool { close(ran); return true }).Wake()
					select {
					case <-ran:
					case <-left:
					case <-time.After(patience.Limit):
						t.Fatal("the worker neither runs a task nor ends")
					}
				}
				require.False(t, unwound.Load(), "it runs beside the report")
			}))
			require.NoError(t, receive(t, "the runtime closes", closed))
			require.True(t, unwound.Load())
		})
	}
}

// ticksRuns is how many tasks a worker runs in a tick at most.
const ticksRuns = 128

// A virtual clock does not pass the wake-up of a task that is being inspected.
func TestDumpsBesideAVirtualClock(t *testing.T) {
	rt := sched.New(sched.Config{Workers: 1, Paused: true})
	defer rt.Close()
	quit := make(chan struct{})
	var dumps sync.WaitGroup
	dumps.Go(func() {
		for {
			select {
			case <-quit:
				return
			default:
				_ = rt.Dump(&bytes.Buffer{})
			}
		}
	})
	h := sched.Go(rt, func(cx *sched.Context) (time.Duration, error) {
		for range 200 {
			if _, err := sched.Await(cx, sched.Sleep(time.Hour)); err != nil {
				return 0, err
			}
		}
		return cx.Runtime().Now(), nil
	})
	sched.Spawn(rt, sched.Sleep(1000*time.Hour))
	now, err := h.Wait(context.Background())
	require.NoError(t, err)
	require.Equal(t, 200*time.Hour, now)
	close(quit)
	dumps.Wait()
}
