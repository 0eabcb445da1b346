package conn_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

func TestErrorsMatchWindowsNumbersAndPortableOnes(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.NoError(t, ln.Close())
		closed, tell := ends(1)
		_, err = f.Dial(ln.Addr(), f.audit.of(funcs{close: tell}))
		require.NoError(t, err)
		err = conntest.Receive(t, closed)
		require.ErrorIs(t, err, windows.WSAECONNREFUSED, "as of package net")
		require.ErrorIs(t, err, syscall.ECONNREFUSED, "as everywhere else")
		require.NotErrorIs(t, err, syscall.ECONNRESET)
		var errno syscall.Errno
		require.ErrorAs(t, err, &errno)
		require.Equal(t, windows.WSAECONNREFUSED, errno)
		var sys *os.SyscallError
		require.ErrorAs(t, err, &sys)
		_, err = net.Dial("tcp", ln.Addr().String())
		require.NotErrorIs(t, err, syscall.ECONNREFUSED, "then package net needs Portable no more")
		require.ErrorIs(t, conn.Portable(err), syscall.ECONNREFUSED)
		require.ErrorIs(t, conn.Portable(err), windows.WSAECONNREFUSED)
		require.Equal(t, err.Error(), conn.Portable(err).Error())
		require.IsType(t, err, conn.Portable(err))
	})
}

func TestPortableLeavesAloneWhatItDoesNotKnow(t *testing.T) {
	require.NoError(t, conn.Portable(nil))
	other := errors.New("other")
	require.Equal(t, other, conn.Portable(other))
	denied := conn.Portable(os.NewSyscallError("bind", windows.WSAEACCES))
	require.ErrorIs(t, denied, fs.ErrPermission)
	require.Equal(t, denied, conn.Portable(denied))
	wrapped := fmt.Errorf("wrapped: %w", windows.WSAECONNRESET)
	require.ErrorIs(t, conn.Portable(wrapped), syscall.ECONNRESET)
	require.ErrorIs(t, conn.Portable(wrapped), wrapped)
	late := conn.Portable(os.NewSyscallError("connectex", windows.WSAETIMEDOUT))
	require.True(t, (&net.OpError{Err: late}).Timeout())
}
