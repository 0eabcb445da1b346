package ctxend_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/ctxend"
)

func TestTheReasonMatchesTheErrorAndTheCause(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	require.NoError(t, ctxend.Reason(ctx))
	cancel(io.ErrNoProgress)
	err := ctxend.Reason(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, io.ErrNoProgress)

	late, stop := context.WithDeadlineCause(context.Background(), time.Unix(0, 0), io.ErrShortWrite)
	defer stop()
	require.ErrorIs(t, ctxend.Reason(late), context.DeadlineExceeded)
	require.ErrorIs(t, ctxend.Reason(late), io.ErrShortWrite)

	require.NoError(t, ctxend.Reason(&ending{Context: ctx}), "the end came after the question")

	plain, end := context.WithCancel(context.Background())
	end()
	require.Equal(t, context.Canceled, ctxend.Reason(plain))
}

// ending is a context that ends right after it has been asked.
type ending struct {
	context.Context
	asked bool
}

func (e *ending) Err() error {
	if !e.asked {
		e.asked = true
		return nil
	}
	return e.Context.Err()
}
