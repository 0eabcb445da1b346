package natscluster_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/process/natscluster"
)

// A node that has names leaves without the server that keeps them.
func TestANodeWithNamesLeavesWithoutTheServer(t *testing.T) {
	cfg := testConfig("")
	cfg.Lost = 1 // the least
	server, err := natscluster.Join(t.Context(), cfg)
	require.NoError(t, err)
	cfg = testConfig(server.URL())
	cfg.Lost = 1
	c, err := natscluster.Join(t.Context(), cfg)
	require.NoError(t, err)
	pid := sink(t, c, process.Options{}, func(any) {})
	for i := range 30 {
		require.NoError(t, c.Register(t.Context(), fmt.Sprint(i), pid))
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience.Limit)
	defer cancel()
	require.NoError(t, server.Shutdown(ctx))
	left := make(chan error, 1)
	go func() { left <- c.Shutdown(context.Background()) }()
	select {
	case err := <-left:
		require.NoError(t, err)
	case <-ctx.Done():
		t.Fatal("it does not leave")
	}
}
