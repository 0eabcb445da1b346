//go:build unix

package sock

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func isOpen(fd int) bool {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err == nil
}

func TestControlIsToldTheNetworkOfTheAddress(t *testing.T) {
	for want, addr := range map[string]net.Addr{
		"tcp4": &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1},
		"tcp6": &net.TCPAddr{IP: net.IPv6loopback, Port: 1},
		"unix": &net.UnixAddr{Net: "unix", Name: "/nowhere"},
	} {
		fd, err := ToDial(addr, nil, func(network, address string, raw syscall.RawConn) error {
			require.Equal(t, want, network)
			require.Equal(t, addr.String(), address)
			return raw.Control(func(fd uintptr) { require.True(t, isOpen(int(fd))) })
		})
		require.NoError(t, err)
		require.True(t, isOpen(fd))
		Close(fd)
	}
}

func TestASocketToDialIsBound(t *testing.T) {
	fd, err := ToDial(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, nil)
	require.NoError(t, err)
	defer Close(fd)
	require.Equal(t, "127.0.0.1", LocalAddr(fd).(*net.TCPAddr).IP.String())
}

// Each failure closes the socket, a panic of control included.
func TestASocketThatCannotBeDialedIsClosed(t *testing.T) {
	remote, errControl := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, errors.New("control")
	for name, c := range map[string]struct {
		local net.Addr
		fail  func()
		err   error
	}{
		"control fails":                {err: errControl},
		"control panics":               {fail: func() { panic(errControl) }},
		"the local address is another": {local: &net.UnixAddr{Net: "unix", Name: "/nowhere"}},
	} {
		t.Run(name, func(t *testing.T) {
			made := -1
			dial := func() (int, error) {
				return ToDial(remote, c.local, func(_, _ string, raw syscall.RawConn) error {
					made = int(raw.(Raw))
					if c.fail != nil {
						c.fail()
					}
					return c.err
				})
			}
			if c.fail != nil {
				require.PanicsWithValue(t, errControl, func() { _, _ = dial() })
			} else {
				_, err := dial()
				require.Error(t, err)
				require.True(t, c.err == nil || err == c.err, err)
			}
			require.GreaterOrEqual(t, made, 0)
			require.False(t, isOpen(made))
		})
	}
}

func TestAnAddressOfAnotherKindCannotBeDialed(t *testing.T) {
	_, err := ToDial(&net.UDPAddr{}, nil, nil)
	require.ErrorIs(t, err, errors.ErrUnsupported)
}
