package sched_test

import (
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
)

// A panic that nobody can receive is logged and counted once, whether it comes before its result is
// given up or after.
func TestAPanicThatNobodyReceivesIsLoggedAndCounted(t *testing.T) {
	fails := func(g *gate) sched.Future[string] {
		return sched.FutureFunc[string](func(cx *sched.Context) (string, error) {
			if _, err := g.Poll(cx); err != nil {
				return "", err
			}
			panic("lost-boom")
		})
	}
	for name, lose := range map[string]func(t *testing.T, rt *sched.Runtime, g *gate){
		"detached before": func(_ *testing.T, rt *sched.Runtime, g *gate) {
			sched.Spawn(rt, fails(g)).Detach()
			g.Open("")
		},
		"detached after": func(t *testing.T, rt *sched.Runtime, g *gate) {
			h := sched.Spawn(rt, fails(g))
			g.Open("")
			eventually(t, "the task ends", h.Done)
			h.Detach()
		},
		"a detached function": func(_ *testing.T, rt *sched.Runtime, g *gate) {
			sched.Go(rt, func(cx *sched.Context) (string, error) { return sched.Await(cx, fails(g)) }).Detach()
			g.Open("")
		},
		"a set that is closed after": func(t *testing.T, rt *sched.Runtime, g *gate) {
			var set sched.JoinSet[string]
			h := set.Spawn(rt, fails(g))
			g.Open("")
			eventually(t, "the task ends", h.Done)
			set.Close()
		},
		"a set that is closed while a function runs": func(t *testing.T, rt *sched.Runtime, _ *gate) {
			var set sched.JoinSet[int]
			begun, end := make(chan bool), make(chan bool)
			set.Go(rt, func(*sched.Context) (int, error) { close(begun); <-end; panic("lost-boom") })
			receive(t, "the function runs", begun)
			set.Close()
			close(end)
		},
		"a set whose Close makes a task panic": func(_ *testing.T, rt *sched.Runtime, _ *gate) {
			var set sched.JoinSet[int]
			p := new(probe[int])
			p.onCancel = func() { panic("lost-boom") }
			set.Spawn(rt, p)
			set.Close()
		},
		"a set that is shut down": func(t *testing.T, rt *sched.Runtime, g *gate) {
			var set sched.JoinSet[string]
			h := set.Spawn(rt, fails(g))
			g.Open("")
			eventually(t, "the task ends", h.Done)
			_, err := do(t, rt, set.Shutdown())
			require.NoError(t, err)
		},
		"a JoinAll of a set that is abandoned": func(t *testing.T, rt *sched.Runtime, g *gate) {
			var set sched.JoinSet[string]
			h := set.Spawn(rt, fails(g))
			set.Spawn(rt, new(gate))
			g.Open("")
			eventually(t, "the task ends", h.Done)
			_, err := do(t, rt, sched.Timeout(0, set.JoinAll()))
			require.ErrorIs(t, err, sched.ErrTimeout)
			set.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			log := new(lockedBuffer)
			rt := start(t, sched.Config{Workers: 1, Logger: slog.New(slog.NewTextHandler(log, nil))})
			lose(t, rt, new(gate))
			eventually(t, "it is counted", func() bool { return rt.Stats().Panics == 1 })
			eventually(t, "it is logged", func() bool { return strings.Contains(log.String(), "lost-boom") })
			require.Contains(t, log.String(), "lostpanic_test.go", "the stack")
			require.NoError(t, shut(t, rt))
			require.EqualValues(t, 1, rt.Stats().Panics)
		})
	}
}

// A panic that is a task's result is its caller's business, also if the caller has dropped the
// handle.
func TestAPanicThatIsAResultIsNotLogged(t *testing.T) {
	log := new(lockedBuffer)
	rt := start(t, sched.Config{Workers: 1, Logger: slog.New(slog.NewTextHandler(log, nil))})
	var set sched.JoinSet[int]
	for range 2 {
		set.Go(rt, func(*sched.Context) (int, error) { panic("received") })
	}
	for range 2 {
		_, err := do(t, rt, set.JoinNext())
		require.ErrorAs(t, err, new(*sched.PanicError))
	}
	ends := make(chan bool)
	sched.Go(rt, func(*sched.Context) (int, error) { defer close(ends); panic("dropped") })
	receive(t, "the task whose handle is dropped", ends)
	require.NoError(t, shut(t, rt))
	require.Zero(t, rt.Stats().Panics)
	require.NotContains(t, log.String(), "level=ERROR")
}

// With GODEBUG=panicnil=1 recover returns nil for panic(nil), as it does after runtime.Goexit.
func TestANilPanicAndAGoexitEndEachKindOfTask(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	for name, fail := range map[string]func(){"panic(nil)": func() { panic(nil) }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, rt *sched.Runtime) {
				check := func(err error) {
					t.Helper()
					if name == "Goexit" {
						require.ErrorIs(t, err, sched.ErrGoexit)
						return
					}
					require.ErrorAs(t, err, new(*runtime.PanicNilError))
				}
				poll := sched.FutureFunc[int](func(*sched.Context) (int, error) { fail(); return 0, nil })
				function := func(*sched.Context) (int, error) { fail(); return 0, nil }
				for range 3 {
					_, err := wait(t, sched.Spawn(rt, poll))
					check(err)
					_, err = wait(t, sched.Go(rt, function))
					check(err)
					_, err = wait(t, sched.Go(rt, func(cx *sched.Context) (int, error) { return sched.Await(cx, poll) }))
					check(err)
					p := new(probe[int])
					p.onCancel = fail
					h := sched.Spawn(rt, sched.Future[int](p))
					p.polled(t)
					h.Abort()
					_, err = wait(t, h)
					check(err)
					var set sched.JoinSet[int]
					set.Spawn(rt, poll)
					set.Go(rt, function)
					for range 2 {
						_, err = do(t, rt, set.JoinNext())
						check(err)
					}
					var scope sched.TaskScope
					_, err = wait(t, scope.Go(rt, func(*sched.Context) error { fail(); return nil }))
					check(err)
					require.Zero(t, scope.Len())
				}
				newTask(rt, 0, func(*sched.Context) bool { fail(); return true }).Wake()
				for home := range rt.Workers() {
					pass(t, rt, home)
				}
				require.Zero(t, rt.Tasks())
			})
		})
	}
}
