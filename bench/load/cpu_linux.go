package load

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// tick is the unit of times in /proc: USER_HZ is 100 on every Linux that Go runs on.
const tick = time.Second / 100

// ProcessCPU is the CPU time of a process so far, in user and kernel, of all threads there are and
// were, from its CPU clock (clock_getcpuclockid(3)): exact where /proc/PID/stat counts ticks.
func ProcessCPU(pid int) (time.Duration, error) {
	const scheduled = 2 // CPUCLOCK_SCHED
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduled), &ts); err != nil {
		return 0, fmt.Errorf("load: the CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(ts.Nano()), nil
}

// Ticks is the CPU time of a process so far by user and kernel, from proc_pid_stat(5). It refuses
// one that has exited.
func Ticks(pid int) (user, system time.Duration, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // the command's name may hold anything
	if len(f) < 13 {
		return 0, 0, fmt.Errorf("load: odd /proc/PID/stat: %q", stat)
	}
	if f[0][0] == 'Z' || f[0][0] == 'X' {
		return 0, 0, errors.New("load: the process has exited")
	}
	u, err1 := strconv.ParseInt(string(f[11]), 10, 64)
	s, err2 := strconv.ParseInt(string(f[12]), 10, 64)
	return time.Duration(u) * tick, time.Duration(s) * tick, errors.Join(err1, err2)
}

// A usage is what processes have used so far.
type usage struct {
	cpu, user, system time.Duration // of the server
	own               time.Duration // of this process
	resident          int64
}

// use tells the CPU time first, before anything else takes some.
func use(pid int) (u usage, err error) {
	if pid != 0 {
		if u.cpu, err = ProcessCPU(pid); err != nil {
			return u, err
		}
		if u.user, u.system, err = Ticks(pid); err != nil {
			return u, err
		}
		if u.resident, err = Resident(pid); err != nil {
			return u, err
		}
	}
	u.own, err = ProcessCPU(os.Getpid())
	return u, err
}
