package conn_test

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// A splice waits with any context: a task's, one derived from it, or that of a goroutine.
func TestASpliceOfStreamsTakesAnyContext(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		origin := silentTCP(t)
		type wait func(splice func(ctx context.Context)) // makes a context and calls in its task or goroutine
		inTask := func(derive func(*sched.Context) context.Context) wait {
			return func(splice func(ctx context.Context)) {
				sched.Go(f.Runtime(), func(cx *sched.Context) (struct{}, error) {
					splice(derive(cx))
					return struct{}{}, nil
				}).Detach()
			}
		}
		var cancel context.CancelFunc
		for name, wait := range map[string]wait{
			"a task": inTask(func(cx *sched.Context) context.Context { return cx }),
			"derived": inTask(func(cx *sched.Context) (ctx context.Context) {
				ctx, cancel = context.WithCancel(cx)
				return ctx
			}),
			"goroutine": func(splice func(ctx context.Context)) {
				var ctx context.Context
				ctx, cancel = context.WithCancel(t.Context())
				go splice(ctx)
			},
		} {
			for _, ends := range []bool{false, true} {
				if ends && name == "a task" {
					continue // which has no end of its own
				}
				s, u := dialTo(f, origin), dialTo(f, origin)
				a, b := acceptTCP(t, origin), acceptTCP(t, origin)
				results := make(chan copied, 1)
				wait(func(ctx context.Context) {
					there, back, err := s.Splice(ctx, u, 0)
					results <- copied{there, back, err}
				})
				_, err := a.Write([]byte("passes"))
				require.NoError(t, err)
				_, err = io.ReadFull(b, make([]byte, 6))
				require.NoError(t, err)
				if ends {
					cancel()
					require.ErrorIs(t, conntest.Receive(t, results).err, context.Canceled, name)
					_, err = a.Read(make([]byte, 1))
					require.Error(t, err, name)
					require.NotEqual(t, io.EOF, err, "%s: it is reset", name)
				} else {
					require.NoError(t, a.CloseWrite())
					require.NoError(t, b.CloseWrite())
					got := conntest.Receive(t, results)
					require.NoError(t, got.err, name)
					require.EqualValues(t, 6, got.there+got.back, name)
				}
				conntest.Eventually(t, func() bool { return f.Len() == 0 })
			}
		}
	})
}

// A context that cannot wait is refused, and the Streams stay as they are.
func TestASpliceOfStreamsRefusesWrongContexts(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		origin := silentTCP(t)
		s, u := dialTo(f, origin), dialTo(f, origin)
		a, b := acceptTCP(t, origin), acceptTCP(t, origin)
		var none, others context.Context
		f.task(func(cx *sched.Context) error { others = cx; return nil })
		for _, ctx := range []context.Context{none, others} {
			_, _, err := s.Splice(ctx, u, 0)
			require.ErrorIs(t, err, sched.ErrMisuse)
		}
		f.task(func(*sched.Context) error {
			_, _, err := s.Splice(context.Background(), u, 0)
			require.ErrorIs(t, err, sched.ErrBlocksWorker)
			return nil
		})
		results := make(chan copied, 1)
		go func() {
			there, back, err := s.Splice(t.Context(), u, 0)
			results <- copied{there, back, err}
		}()
		_, err := a.Write([]byte("passes"))
		require.NoError(t, err)
		_, err = io.ReadFull(b, make([]byte, 6))
		require.NoError(t, err)
		require.NoError(t, a.CloseWrite())
		require.NoError(t, b.CloseWrite())
		require.NoError(t, conntest.Receive(t, results).err)
	})
}
