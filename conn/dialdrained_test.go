package conn_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// A dial that begins after all stages of a drain fails: nobody would tell it to end.
func TestADialAfterTheDrainFails(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		hole := conntest.NewHole(t, netip.MustParseAddrPort("127.0.0.1:0"))
		hole.Swallow(t) // connecting takes as long as it likes
		require.NoError(t, f.Shutdown(t.Context()))
		closed, end := ends(1)
		_, err := f.Dial(hole.Addr(), f.audit.of(funcs{close: end}))
		if err == nil {
			err = conntest.Receive(t, closed)
		}
		require.ErrorIs(t, err, net.ErrClosed)
	})
}
