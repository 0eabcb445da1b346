//go:build linux || darwin || freebsd

package conn_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// Both ends know the process, the user and the group of the other: here, this one.
func TestPeerCredOfAUnixConnection(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 2)
		path := filepath.Join(t.TempDir(), "s")
		ln, err := net.Listen("unix", path)
		require.NoError(t, err)
		defer ln.Close()
		got := make(chan conn.Cred, 1)
		l, err := f.Listen(ln, conn.Sequential(func(_ *sched.Context, s *conn.Stream) error {
			cred, err := s.PeerCred()
			got <- cred
			return err
		}))
		require.NoError(t, err)
		defer l.Close()
		s, err := f.DialSocketContext(t.Context(), ln.Addr())
		require.NoError(t, err)
		defer s.Close()
		check := func(c conn.Cred) {
			require.EqualValues(t, os.Geteuid(), c.UID)
			require.EqualValues(t, os.Getegid(), c.GID)
			require.Contains(t, []int{0, os.Getpid()}, c.PID)
		}
		check(conntest.Receive(t, got))
		cred, err := s.PeerCred()
		require.NoError(t, err)
		check(cred)
		require.NoError(t, s.Close())
		_, err = s.PeerCred()
		require.ErrorIs(t, err, net.ErrClosed)
	})
}

func TestATCPConnectionHasNoPeerCred(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		require.NoError(t, err)
		defer ln.Close()
		s, err := f.DialSocketContext(t.Context(), ln.Addr())
		require.NoError(t, err)
		defer s.Close()
		_, err = s.PeerCred()
		require.ErrorIs(t, err, errors.ErrUnsupported)
		var oe *net.OpError
		require.ErrorAs(t, err, &oe)
	})
}
