package load

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// ProcessCPU is the CPU time of a process so far, in user and kernel, of all threads there are and were, from its
// CPU clock (clock_getcpuclockid(3)): exact where /proc/PID/stat counts ticks.
func ProcessCPU(pid int) (time.Duration, error) {
	const scheduled = 2 // CPUCLOCK_SCHED
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduled), &ts); err != nil {
		return 0, fmt.Errorf("load: the CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(ts.Nano()), nil
}
