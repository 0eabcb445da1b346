package blocking_test

import (
	"bytes"
	"context"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/blocking"
)

// A thread has neither the labels of the goroutine that started it, nor those of its last call.
func TestThreadsKeepNoLabels(t *testing.T) {
	p := newPool(t, blocking.Config{MaxThreads: 1, KeepAlive: time.Hour})
	var g *gate
	var h *blocking.Handle[int]
	pprof.Do(context.Background(), pprof.Labels("of", "the-starter"), func(context.Context) { g, h = occupy(t, p) })
	require.NotContains(t, profile(t), "the-starter")
	g.release()
	_, err := result(t, h)
	require.NoError(t, err)

	labels := pprof.WithLabels(context.Background(), pprof.Labels("of", "the-last-call"))
	_, err = result(t, blocking.Submit(p, func() (int, error) {
		pprof.SetGoroutineLabels(labels)
		return 0, nil
	}))
	require.NoError(t, err)
	eventually(t, "the idle thread has no labels", func() bool { return !strings.Contains(profile(t), "the-last-call") })
	g, _ = occupy(t, p)
	require.NotContains(t, profile(t), "the-last-call")
	g.release()
}

// profile is the profile of all goroutines, with their labels.
func profile(t *testing.T) string {
	var b bytes.Buffer
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&b, 1))
	return b.String()
}
