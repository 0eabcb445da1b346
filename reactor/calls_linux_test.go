package reactor

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/faults"
)

func TestCallsFailAsTheirConfigurationPlans(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	require.NoError(t, err)
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	calls := NewCalls(Config{faults: faults.New(1,
		faults.Rule{Call: faults.Send, Errno: unix.ENOBUFS, Every: 1, Most: 1},
		faults.Rule{Call: faults.Recv, Errno: unix.ENOMEM, Every: 1, Most: 1})})
	p := make([]byte, 8)
	_, errno := calls.TrySend(pair[0], p, nil)
	require.Equal(t, unix.ENOBUFS, errno)
	_, errno = calls.TryRecv(pair[1], p)
	require.Equal(t, unix.ENOMEM, errno)

	n, errno := calls.TrySend(pair[0], p, nil)
	require.Zero(t, errno)
	require.Equal(t, len(p), n)
	n, errno = calls.TryRecv(pair[1], p)
	require.Zero(t, errno)
	require.Equal(t, len(p), n)
}
