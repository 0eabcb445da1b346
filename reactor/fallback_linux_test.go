package reactor_test

import (
	"errors"
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/reactor"
)

// Containers forbid io_uring or hide it. Nothing is simulated: the child's kernel refuses.
func TestFallsBackWhereIOURingIsRefused(t *testing.T) {
	for name, cause := range map[string]string{
		"EPERM":  "kernel.io_uring_disabled",
		"ENOSYS": "without io_uring",
		"ENOMEM": "ulimit -l",
	} {
		t.Run(name, func(t *testing.T) {
			rep := inChild(t, name)
			require.Empty(t, rep.Error)
			require.Equal(t, "epoll", rep.Backend)
			require.Equal(t, "ok", rep.Exchange)
			require.Contains(t, rep.Log, "level=WARN")
			require.Contains(t, rep.Log, "fell back")
			require.Contains(t, rep.Log, "backend=epoll")
			require.Contains(t, rep.Log, cause, "the log says why")

			require.Empty(t, rep.Forced["epoll"])
			forced := rep.Forced["io_uring"]
			require.Contains(t, forced, "backend io_uring cannot start")
			require.Contains(t, forced, cause)
			require.Contains(t, forced, "SUIRO_BACKEND=epoll", "and what to do")
			require.NotContains(t, forced, "\n")
			require.True(t, rep.Is["io_uring"], "%s", forced)
		})
	}
}

func TestNoDescriptorsLeft(t *testing.T) {
	rep := inChild(t, "EMFILE")
	require.Empty(t, rep.Backend)
	for _, name := range reactor.Backends() {
		if _, err := reactor.Select(reactor.Config{Backend: name}, nil); err != nil {
			t.Logf("it cannot start here, with descriptors either: %v", err)
			continue
		}
		require.Contains(t, rep.Error, name)
		require.Contains(t, rep.Forced[name], "backend "+name+" cannot start")
		require.Contains(t, rep.Forced[name], "ulimit -n")
		require.NotContains(t, rep.Forced[name], "\n")
		require.True(t, rep.Is[name], "%s", rep.Forced[name])
	}
}

// Before Linux 5.11 there is only epoll_pwait, which counts in milliseconds. A seccomp profile from
// before then may answer EPERM.
func TestEpollWithoutPwait2(t *testing.T) {
	for _, name := range []string{"no epoll_pwait2", "EPERM of epoll_pwait2", "no timerfd, no pwait2"} {
		t.Run(name, func(t *testing.T) { require.Equal(t, "ok", inChild(t, name).Exchange) })
	}
}

// exchange lets the reactor wait without an event, and then sends a few bytes through it.
func exchange(cfg reactor.Config) string {
	cfg.Backend = "epoll"
	r, err := reactor.Open(cfg)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = r.Close() }() // the error of Close is not what this test checks
	out := make([]reactor.Completion, 4)
	for _, hold := range []bool{false, true} {
		if n, err := r.Poll(out, 1, hold); n != 0 || err != nil {
			return "a Poll with nothing to do did something"
		}
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err.Error()
	}
	for _, op := range []reactor.Op{
		{Kind: reactor.Recv, FD: pair[0], Token: 1},
		{Kind: reactor.Send, FD: pair[1], Token: 2, Buf: []byte("ping")},
	} {
		if err := r.Submit(&op); err != nil {
			return err.Error()
		}
	}
	for got := ""; got != "ping"; {
		n, err := r.Poll(out, -1, false)
		if err != nil {
			return err.Error()
		}
		for _, c := range out[:n] {
			if c.Res < 0 {
				return c.Errno().Error()
			}
			got += string(c.Buf.Bytes)
		}
	}
	return "ok"
}

// An opening that fails half way gives back what it had.
func TestOpenFailingLeaksNothing(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, name := range reactor.Backends() {
		cfg, err := reactor.Select(reactor.Config{Backend: name}, nil)
		if err != nil {
			t.Logf("NOT TESTED here: %v", err)
			continue
		}
		before := lowestDescriptor(t)
		var was unix.Rlimit
		require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &was))
		failures := 0
		for room := range 4 {
			now := was
			now.Cur = uint64(before + room)
			require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &now))
			r, err := reactor.Open(cfg)
			require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &was))
			if err == nil {
				require.NoError(t, r.Close())
			} else {
				failures++
				require.ErrorIs(t, err, unix.EMFILE)
				require.ErrorContains(t, err, "ulimit -n")
			}
			require.Equal(t, before, lowestDescriptor(t), "%s with room for %d", name, room)
		}
		require.Positive(t, failures)
	}
}

func lowestDescriptor(t *testing.T) int {
	t.Helper()
	fd, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, unix.Close(fd))
	return fd
}

func isErrno(err error, errno unix.Errno) bool { return errno != 0 && errors.Is(err, errno) }

func asExit(err error, exit **exec.ExitError) bool { return errors.As(err, exit) }

// A closed ring's memory counts for a while longer, and there is room for one.
func TestARingOpensSoonAfterAnotherOnesClose(t *testing.T) {
	conntest.InChild(t, nil, func(t *testing.T) {
		conntest.LockAtMost(t, 256<<10)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		cfg, err := reactor.Select(reactor.Config{Backend: "io_uring"}, nil)
		if err != nil {
			t.Skipf("io_uring cannot start here: %v", err)
		}
		for range 10 {
			r, err := reactor.Open(cfg)
			require.NoError(t, err)
			require.NoError(t, r.Close())
		}
	})
}
