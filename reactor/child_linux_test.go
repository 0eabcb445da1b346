package reactor_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/reactor"
)

// childEnv tells the test binary to be a child: to change what the kernel allows the process, which
// cannot be taken back, and to report how the selection of a backend goes then.
const childEnv = "SUIRO_REACTOR_TEST_CHILD"

// restrictions are what a child can do to itself.
var restrictions = map[string]func() error{
	"EPERM":                 func() error { return conntest.Forbid(unix.EPERM, unix.SYS_IO_URING_SETUP) },
	"ENOSYS":                func() error { return conntest.Forbid(unix.ENOSYS, unix.SYS_IO_URING_SETUP) },
	"ENOMEM":                func() error { return conntest.Forbid(unix.ENOMEM, unix.SYS_IO_URING_SETUP) },
	"no epoll_pwait2":       func() error { return conntest.Forbid(unix.ENOSYS, unix.SYS_EPOLL_PWAIT2) },
	"EPERM of epoll_pwait2": func() error { return conntest.Forbid(unix.EPERM, unix.SYS_EPOLL_PWAIT2) },
	"no timerfd, no pwait2": func() error {
		return conntest.Forbid(unix.ENOSYS, unix.SYS_TIMERFD_CREATE, unix.SYS_EPOLL_PWAIT2)
	},
	"EMFILE": func() error {
		fd, err := unix.Dup(0)
		if err != nil {
			return err
		}
		_ = unix.Close(fd)
		return unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(fd), Max: uint64(fd)})
	},
}

// A report is what a child has seen.
type report struct {
	Backend  string            // selected with none forced
	Error    string            // of that
	Log      string            // of that
	Forced   map[string]string // error by backend
	Is       map[string]bool   // the forced backend's error matches the restriction's errno
	Exchange string            // a child that can open a reactor uses it
}

func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		beChild(name)
		return
	}
	conntest.Share(m, 2)
}

func beChild(name string) {
	runtime.LockOSThread()
	if err := restrictions[name](); err != nil {
		fmt.Fprintf(os.Stderr, "cannot restrict myself: %v\n", err)
		os.Exit(2)
	}
	errnos := map[string]unix.Errno{"EPERM": unix.EPERM, "ENOSYS": unix.ENOSYS, "ENOMEM": unix.ENOMEM, "EMFILE": unix.EMFILE}
	log, text := logged()
	rep := report{Forced: map[string]string{}, Is: map[string]bool{}}
	cfg, err := reactor.Select(reactor.Config{}, log)
	rep.Backend, rep.Log = cfg.Backend, text.String()
	if err != nil {
		rep.Backend, rep.Error = "", err.Error()
	}
	for _, b := range reactor.Backends() {
		if _, err := reactor.Select(reactor.Config{Backend: b}, nil); err != nil {
			rep.Forced[b], rep.Is[b] = err.Error(), isErrno(err, errnos[name])
		}
	}
	if err == nil {
		rep.Exchange = exchange(cfg)
	}
	if err := json.NewEncoder(os.Stdout).Encode(rep); err != nil {
		os.Exit(2)
	}
}

// inChild runs the restriction in a child of its own.
func inChild(t *testing.T, name string) report {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), childEnv+"="+name, reactor.EnvBackend+"=")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && asExit(err, &exit) && exit.ExitCode() == 2 {
		t.Skip("a process cannot be restricted here; see the line above")
	}
	require.NoError(t, err)
	var rep report
	require.NoError(t, json.Unmarshal(out, &rep), "%s", out)
	return rep
}
