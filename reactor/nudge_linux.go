package reactor

import (
	"sync"

	"golang.org/x/sys/unix"
)

// Commands of membarrier(2), Linux 4.14.
const (
	membarrierPrivateExpedited         = 1 << 3
	membarrierRegisterPrivateExpedited = 1 << 4
)

var registerNudge = sync.OnceValue(func() bool {
	_, _, errno := unix.RawSyscall(unix.SYS_MEMBARRIER, membarrierRegisterPrivateExpedited, 0, 0)
	return errno == 0
})

// nudge interrupts every processor that runs a thread of this process. On its way back to user mode
// a thread then runs the kernel's pending work for it, such as posting completions. A busy thread
// would otherwise do so at the next timer tick, up to 4 ms later. It costs about a microsecond on
// either side. It returns false if the system call is forbidden or missing.
func nudge() bool {
	if !registerNudge() {
		return false
	}
	_, _, errno := unix.RawSyscall(unix.SYS_MEMBARRIER, membarrierPrivateExpedited, 0, 0)
	return errno == 0
}
