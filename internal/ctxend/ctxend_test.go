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

	plain, end := context.WithCancel(context.Background())
	end()
	require.Equal(t, context.Canceled, ctxend.Reason(plain))
}
