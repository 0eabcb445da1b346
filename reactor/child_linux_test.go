package reactor_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/reactor"
)

// childEnv tells the test binary to be a child: to change what the kernel allows the process, which cannot be
// taken back, and to report how the selection of a backend goes then.
const childEnv = "SUIRO_REACTOR_TEST_CHILD"

// restrictions are what a child can do to itself.
var restrictions = map[string]func() error{
	"EPERM":           func() error { return forbid(unix.SYS_IO_URING_SETUP, unix.EPERM) },
	"ENOSYS":          func() error { return forbid(unix.SYS_IO_URING_SETUP, unix.ENOSYS) },
	"ENOMEM":          func() error { return forbid(unix.SYS_IO_URING_SETUP, unix.ENOMEM) },
	"no epoll_pwait2": func() error { return forbid(unix.SYS_EPOLL_PWAIT2, unix.ENOSYS) },
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
	Exchange string            // a child that can open a reactor has it do something
}

func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		beChild(name)
		return
	}
	os.Exit(m.Run())
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

// forbid makes a system call fail for the whole process, as a container's seccomp profile does.
func forbid(call uintptr, errno unix.Errno) error {
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS // of the call's number, at offset 0
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		ret   = unix.BPF_RET | unix.BPF_K
	)
	filter := []unix.SockFilter{
		{Code: load},
		{Code: equal, K: uint32(call), Jt: 0, Jf: 1},
		{Code: ret, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		{Code: ret, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(prog)))
	runtime.KeepAlive(filter)
	if e != 0 {
		return e
	}
	return nil
}
