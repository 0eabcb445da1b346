package accept

import (
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/admission"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/reactor"
)

// listen is a listening descriptor and where to connect to.
func listen(t *testing.T) (fd int, addr string) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(fd) })
	require.NoError(t, unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, unix.Listen(fd, 16))
	at, err := unix.Getsockname(fd)
	require.NoError(t, err)
	return fd, (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: at.(*unix.SockaddrInet4).Port}).String()
}

// The kernel has told nobody but the Accept that is canceled of a client. The Socket takes it, also
// if its worker was so slow that another socket has the descriptor.
func TestAClientThatConnectsAsTheAcceptIsCanceledIsTaken(t *testing.T) {
	for _, slow := range []bool{false, true} {
		fd, addr := listen(t)
		f := newFixtureOn(t, fd, &admission.Limits{}, nil, 0)
		require.NoError(t, f.group.Engine.Inert.Hold()) // the driver's Close drops it
		require.NoError(t, f.Start())
		f.next(reactor.Accept)
		copied, err := f.File("")
		require.NoError(t, err)
		closed := make(chan error, 1)
		go func() { closed <- f.Close() }()
		require.Equal(t, reactor.Accept, f.next(reactor.Cancel).Target)
		if slow {
			conntest.Eventually(t, func() bool {
				f.mu.Lock()
				defer f.mu.Unlock()
				return f.inert
			})
		}
		client, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		f.complete(-int(syscall.ECANCELED), false)
		taken := conntest.Receive(t, f.begun) + listening
		_, err = unix.Write(taken, []byte("x"))
		require.NoError(t, err)
		_, err = client.Read(make([]byte, 1))
		require.NoError(t, err)
		require.NoError(t, conntest.Receive(t, closed))
		require.NoError(t, unix.Close(taken))
		require.NoError(t, client.Close())
		require.NoError(t, copied.Close())
		if slow {
			require.Zero(t, f.kept)
		}
		_, err = net.Dial("tcp", addr)
		if slow { // else the test's kernel has not closed the descriptor
			require.ErrorIs(t, err, syscall.ECONNREFUSED)
		}
	}
}
