package blocking_test

import (
	"bytes"
	"context"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/blocking"
	"github.com/suiro-go/suiro/sched"
)

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

type bursting struct{}

func (bursting) Release() { panic("lost-boom") }

func TestThePanicOfACallThatATaskHasGivenUpIsLoggedAndCounted(t *testing.T) {
	for name, call := range map[string]func() (bursting, error){
		"of the call":    func() (bursting, error) { panic("lost-boom") },
		"of its Release": func() (bursting, error) { return bursting{}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			log := new(lockedBuffer)
			rt := start(t, sched.Config{Workers: 1, Logger: slog.New(slog.NewTextHandler(log, nil))})
			p := newPool(t, blocking.Config{})
			g := newGate(t, 1)
			h := sched.Go(rt, func(cx *sched.Context) (bursting, error) {
				return blocking.Do(cx, p, func() (bursting, error) {
					_, _ = g.pass()
					return call()
				})
			})
			receive(t, "the call starts", g.entered)
			h.Abort()
			_, err := result(t, h)
			require.ErrorIs(t, err, sched.ErrCanceled)
			g.release()
			eventually(t, "the panic is logged", func() bool { return strings.Contains(log.String(), "lost-boom") })
			require.EqualValues(t, 1, rt.Stats().Panics)
		})
	}
}

// No runtime is concerned.
func TestThePanicOfACallThatAGoroutineHasGivenUpIsLogged(t *testing.T) {
	log := new(lockedBuffer)
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(log, nil)))
	defer slog.SetDefault(before)
	p := newPool(t, blocking.Config{})
	g := newGate(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-g.entered
		cancel()
	}()
	_, err := blocking.Do(ctx, p, func() (int, error) {
		_, _ = g.pass()
		panic("lost-boom")
	})
	require.ErrorIs(t, err, context.Canceled)
	g.release()
	eventually(t, "the panic is logged", func() bool { return strings.Contains(log.String(), "lost-boom") })
}

func TestANilPanicIsACallsErrorAndGoexitToo(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	p := newPool(t, blocking.Config{MaxThreads: 1})
	for range 3 {
		_, err := result(t, blocking.Submit(p, func() (int, error) { panic(nil) }))
		require.ErrorAs(t, err, new(*runtime.PanicNilError))
		_, err = result(t, blocking.Submit(p, func() (int, error) { runtime.Goexit(); return 0, nil }))
		require.ErrorIs(t, err, sched.ErrGoexit)
	}
}
