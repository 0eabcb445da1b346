package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

// A caller that cancels its request after it has given the connection back does not affect the next
// user.
func TestALateCancelEndsNobodyElsesConnection(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		p := newPooling(t, backend, workers, false, &server.Pool{})
		first := newTold()
		cancel, err := p.Start("tcp", p.l.Addr().String(), first)
		require.NoError(t, err)
		handle := conntest.Receive(t, first.opened).Handle()
		name := p.of(handle)
		p.put(handle)
		h := newTold()
		handle, same := p.get(h)
		require.Equal(t, name, same)
		cancel()
		use(t, handle, h, "still there")
		require.Empty(t, h.closed)

		// If it was not given back it is reset.
		third := newTold()
		cancel, err = p.Start("tcp", p.l.Addr().String(), third)
		require.NoError(t, err)
		conntest.Receive(t, third.opened)
		cancel()
		require.Error(t, conntest.Receive(t, third.closed))
	})
}
