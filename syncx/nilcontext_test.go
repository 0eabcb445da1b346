package syncx_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/syncx"
)

// A call that could wait refuses a nil context also if it need not wait. Nothing is acquired.
func TestANilContextIsRefusedAlsoWhereNothingWaits(t *testing.T) {
	var (
		mu   syncx.Mutex
		rw   syncx.RWMutex
		note syncx.Notify
		cell syncx.OnceCell[int]
		full syncx.OnceCell[int]
		none context.Context
	)
	permits := syncx.NewSemaphore(1)
	note.NotifyOne()
	require.True(t, full.Set(1))
	for name, call := range map[string]func() error{
		"Mutex":   func() error { return mu.Lock(none) },
		"RWMutex": func() error { return rw.Lock(none) },
		"RLock":   func() error { return rw.RLock(none) },
		"Acquire": func() error { return permits.Acquire(none, 1) },
		"Notify":  func() error { return note.Wait(none) },
		"Barrier": func() error { _, err := syncx.NewBarrier(1).Wait(none); return err },
		"OnceCell": func() error {
			_, err := cell.GetOrInit(none, func(context.Context) (int, error) {
				t.Error("it made the value")
				return 0, nil
			})
			return err
		},
		"full OnceCell": func() error {
			_, err := full.GetOrInit(none, func(context.Context) (int, error) { return 0, nil })
			return err
		},
	} {
		require.ErrorIs(t, call(), sched.ErrMisuse, name)
	}
	require.True(t, mu.TryLock())
	require.True(t, rw.TryLock())
	require.True(t, permits.TryAcquire(1))
	require.True(t, note.TryWait(), "the notification is left")
}
