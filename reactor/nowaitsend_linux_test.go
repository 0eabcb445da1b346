//go:build !kqueue

package reactor

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A Poll waits for the sends that it submits and one completion more. If one of those sends waited
// for room, a peer that has sent something meanwhile would wait as long as the worker holds its
// processor.
func TestANoWaitSendToAFullSocketDelaysNobody(t *testing.T) {
	cfg, err := Config{Backend: "io_uring"}.withDefaults()
	require.NoError(t, err)
	if err := probeURing(&cfg); err != nil {
		t.Skip(err)
	}
	runtime.LockOSThread() // not unlocked: the thread ends with this goroutine, and its signal mask
	var mask unix.Sigset_t
	mask.Val[0] = 1 << (unix.SIGURG - 1) // by which Go's scheduler ends a hold, after 10 ms
	require.NoError(t, unix.PthreadSigmask(unix.SIG_BLOCK, &mask, nil))
	r, err := openURing(&cfg)
	require.NoError(t, err)
	defer r.Close()

	full, other := pairOf(t), pairOf(t)
	for size := 1 << 20; size > 0; { // to the last byte
		if _, err := unix.Write(full[0], make([]byte, size)); err != nil {
			require.Equal(t, unix.EAGAIN, err)
			size /= 2
		}
	}
	token := [2]Token{MakeToken(1, 1), MakeToken(2, 1)}
	require.NoError(t, r.Submit(&Op{Kind: Recv, FD: other[0], Token: token[1]}))
	out := make([]Completion, 16)
	_, err = r.Poll(out, 0, false)
	require.NoError(t, err)
	buf := []byte("x")
	for i := range 3 {
		require.NoError(t, r.Submit(&Op{Kind: Send, FD: full[0], Token: token[0], Buf: buf, NoWait: true}))
		_, err = unix.Write(other[1], buf)
		require.NoError(t, err)
		var refused, heard bool
		for began := time.Now(); !refused || !heard; {
			n, err := r.Poll(out, 50*time.Second, true)
			require.NoError(t, err)
			for _, c := range out[:n] {
				switch c.Kind {
				case Send:
					require.Equal(t, syscall.EAGAIN, c.Errno())
					refused = true
				case Recv:
					require.Equal(t, 1, c.Res)
					r.Release(c.Buf)
					heard = true
				}
			}
			require.Less(t, time.Since(began), 40*time.Second, "round %d: what came has waited for the end of the hold", i)
		}
	}
}

// pairOf is two ends of a connection that do not block.
func pairOf(t *testing.T) [2]int {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(fds[0]); _ = unix.Close(fds[1]) })
	return fds
}
