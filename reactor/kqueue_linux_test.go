//go:build kqueue

package reactor

import (
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/reactor/internal/kevent"
)

func newTestKqueue(t *testing.T) (*readiness, *kqueue) {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	opened, err := Open(Config{Backend: "kqueue"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, opened.Close()) })
	r := opened.(*readiness)
	return r, r.poller.(*kqueue)
}

func testPair(t *testing.T) (fd, peer int) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(pair[1]) })
	return pair[0], pair[1]
}

// A change that waits for the next call would apply to the descriptor that has the number by then.
func TestKqueueMakesNoChangeForAClosedDescriptor(t *testing.T) {
	r, p := newTestKqueue(t)
	fd, peer := testPair(t)
	other, _ := testPair(t)
	defer unix.Close(other)
	for _, fd := range []int{fd, other} {
		require.NoError(t, r.Submit(&Op{Kind: Recv, FD: fd, Token: Token(fd)}))
	}
	require.Len(t, p.changes, 4)
	require.NoError(t, r.Submit(&Op{Kind: Close, FD: fd}))
	next, err := unix.Dup(peer)
	require.NoError(t, err)
	defer unix.Close(next)
	require.Equal(t, fd, next, "the number was not reused: this test shows nothing")
	require.Len(t, p.changes, 2)
	n, err := r.Poll(make([]Completion, 4), 0, false)
	require.NoError(t, err)
	require.Zero(t, n)
	for _, filter := range []int16{kevent.EVFILT_READ, kevent.EVFILT_WRITE} {
		_, errno := p.queue.Kevent([]kevent.Event{{Ident: uint64(next), Filter: filter, Flags: kevent.EV_DELETE}}, nil, nil)
		require.Equal(t, unix.ENOENT, errno)
		_, errno = p.queue.Kevent([]kevent.Event{{Ident: uint64(other), Filter: filter, Flags: kevent.EV_DELETE}}, nil, nil)
		require.Zero(t, errno)
	}
}

// To believe an event of the number's former descriptor costs no more than a read in vain, which no
// other test sees.
func TestKqueueVoidsStaleEvents(t *testing.T) {
	r, p := newTestKqueue(t)
	fd, peer := testPair(t)
	recv := func() { require.NoError(t, r.Submit(&Op{Kind: Recv, FD: fd, Token: 1})) }
	tell := func() {
		p.events[0] = kevent.Event{Ident: uint64(fd), Filter: kevent.EVFILT_READ, Flags: kevent.EV_EOF, Data: 5}
		p.tell(r, 1, false)
	}
	recv()
	r.poller.prepare() // and the wait that gets the event begins
	tell()
	require.True(t, r.table.get(fd).in, "it counts")

	require.NoError(t, r.Submit(&Op{Kind: Close, FD: fd}))
	next, err := unix.Dup(peer)
	require.NoError(t, err)
	defer unix.Close(next)
	require.Equal(t, fd, next, "the number was not reused: this test shows nothing")
	recv()
	tell()
	f := r.table.get(fd)
	require.False(t, f.in || f.out || f.ahead || f.line&inReady != 0 || f.left > 0, "an event of the former socket was believed: %+v", f)
}

// The kernel refuses a descriptor only after the operation was accepted.
func TestKqueueEndsWhatCannotBeWatched(t *testing.T) {
	r, _ := newTestKqueue(t)
	fd, _ := testPair(t)
	require.NoError(t, r.Submit(&Op{Kind: Recv, FD: fd, Token: 7}))
	require.NoError(t, unix.Close(fd)) // behind its back
	out := make([]Completion, 4)
	n, err := r.Poll(out, 0, false)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, Completion{Token: 7, Kind: Recv, Res: -int(syscall.EBADF)}, out[0])
	n, err = r.Poll(out, 0, false)
	require.NoError(t, err)
	require.Zero(t, n)
}

// A wake-up that a rescuer meets is the owner's all the same, also where taking the event resets
// it.
func TestKqueueKeepsAWakeForTheOwner(t *testing.T) {
	for name, without := range map[string][]Feature{"kqueue with a user event": nil, "kqueue with a pipe": {FeatureUserWake}} {
		t.Run(name, func(t *testing.T) {
			opened, err := Open(Config{Backend: "kqueue", Without: without})
			require.NoError(t, err)
			defer opened.Close()
			require.Equal(t, without != nil, opened.(*readiness).poller.(*kqueue).waker.call == nil)
			out := make([]Completion, 4)
			for range 10 {
				require.NoError(t, opened.Wake())
				for range 2 {
					n, err := opened.Rescue(out)
					require.NoError(t, err)
					require.Zero(t, n)
				}
				n, err := opened.Poll(out, -1, false) // would wait for ever
				require.NoError(t, err)
				require.Zero(t, n)
			}
		})
	}
}

// The parts of syscall_portable.go that translate addresses.
func TestAddressesSurviveTheTranslation(t *testing.T) {
	for _, sa := range []unix.Sockaddr{
		&unix.SockaddrInet4{Port: 4711, Addr: [4]byte{1, 2, 3, 4}},
		&unix.SockaddrInet6{Port: 4711, Addr: [16]byte{0: 0xfe, 1: 0x80, 15: 9}, ZoneId: 3},
	} {
		var raw unix.RawSockaddrAny
		n := putSockaddr(unsafe.Slice((*byte)(unsafe.Pointer(&raw)), nameRoom), sa)
		got := getSockaddr(unsafe.Pointer(&raw), n)
		switch want := sa.(type) {
		case *unix.SockaddrInet4:
			require.Equal(t, want.Addr, got.(*unix.SockaddrInet4).Addr)
			require.Equal(t, want.Port, got.(*unix.SockaddrInet4).Port)
		case *unix.SockaddrInet6:
			require.Equal(t, want.Addr, got.(*unix.SockaddrInet6).Addr)
			require.Equal(t, want.Port, got.(*unix.SockaddrInet6).Port)
			require.Equal(t, want.ZoneId, got.(*unix.SockaddrInet6).ZoneId)
		}
	}
}
