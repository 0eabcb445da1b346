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
		n, errno := Calls{}.TrySend(pair[0], first, rest[len(first):])
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
	_, errno := Calls{}.TrySend(pair[0], want[:1], want[:1])
	require.Equal(t, unix.EPIPE, errno)
}

func TestATryThatFailsHasMovedNothing(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(pair[0])
	var pipe [2]int
	require.NoError(t, unix.Pipe2(pipe[:], unix.O_NONBLOCK|unix.O_CLOEXEC))
	defer unix.Close(pipe[0])
	defer unix.Close(pipe[1])
	p := make([]byte, 64)
	var calls Calls
	try := map[string]func() (int, unix.Errno){
		"receive from a socket":  func() (int, unix.Errno) { return calls.TryRecv(pair[0], p) },
		"receive from a pipe":    func() (int, unix.Errno) { return calls.TryRecv(pipe[0], p) },
		"send":                   func() (int, unix.Errno) { return calls.TrySend(pair[0], nil, p) },
		"send from two places":   func() (int, unix.Errno) { return calls.TrySend(pair[0], p, p) },
		"receive from no socket": func() (int, unix.Errno) { return calls.TryRecv(-1, p) },
	}
	for name, call := range try {
		t.Run(name, func(t *testing.T) {
			for range 1 << 20 { // until the socket is full
				n, errno := call()
				require.GreaterOrEqual(t, n, 0)
				if errno != 0 {
					require.Zero(t, n)
					return
				}
			}
			t.Fatal("it does not fail")
		})
	}
	require.NoError(t, unix.Close(pair[1]))
}
