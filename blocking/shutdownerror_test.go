package blocking_test

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/blocking"
)

func TestAShutdownsErrorMatchesTheContextsErrorAndItsCause(t *testing.T) {
	p := newPool(t, blocking.Config{})
	g, _ := occupy(t, p)
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(io.ErrNoProgress)
	err := p.Shutdown(ctx)
	require.ErrorIs(t, err, ctx.Err())
	require.ErrorIs(t, err, io.ErrNoProgress)
	g.release()
}
