package reactor

import (
	"io"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestTrySendTakesWhatThereIsRoomForInOrder(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(pair[0])
	peer := os.NewFile(uintptr(pair[1]), "peer")
	defer peer.Close()
	r := rand.New(rand.NewPCG(1, 2))
	want := make([]byte, 4<<20)
	for i := range want {
		want[i] = byte(r.Uint32())
	}
	got := make([]byte, 0, len(want))
	sent, full := 0, 0
	for len(got) < len(want) {
		rest := want[sent:]
		first := rest[:min(len(rest), r.IntN(300<<10))]
		n, errno := new(Config).TrySend(pair[0], first, rest[len(first):])
		if errno == unix.EAGAIN || len(rest) == 0 {
			full++
			m, err := io.ReadAtLeast(peer, got[len(got):min(cap(got), len(got)+100<<10)], 1)
			require.NoError(t, err)
			got = got[:len(got)+m]
			continue
		}
		require.Zero(t, errno)
		require.Positive(t, n)
		require.LessOrEqual(t, n, len(rest))
		sent += n
	}
	require.Positive(t, full, "there always was room")
	require.Equal(t, want, got)
	require.NoError(t, peer.Close())
	_, errno := new(Config).TrySend(pair[0], want[:1], want[:1])
	require.Equal(t, unix.EPIPE, errno)
}
