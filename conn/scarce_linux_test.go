package conn_test

import (
	"context"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// The descriptor that replaces a stuck worker's socket was made before it is needed.
func TestAListenerOfAStuckWorkerClosesWithoutDescriptors(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		l := f.listenTo(funcs{data: echo})
		release := f.stick(0)
		restore := conntest.NoDescriptors(t)
		err := l.Close()
		restore()
		require.NoError(t, err)
		_, err = net.DialTimeout("tcp", l.Addr().String(), conntest.Patience)
		require.ErrorIs(t, conn.Portable(err), syscall.ECONNREFUSED)
		over, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, f.Stop(over), conn.ErrStuck)
		release()
		conntest.Receive(t, f.Runtime().Done())
	})
}
