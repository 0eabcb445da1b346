package cputime

import (
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/procfile"
)

// Thread is the calling thread's number for Of. A goroutine that is not locked to it may be on
// another one soon.
func Thread() int { return unix.Gettid() }

// Of reads what the kernel has counted of a thread of this process. Any goroutine may call it. It
// takes some 30 µs: a system call, and two files of /proc. false: there is no such thread, or the
// files are not there.
func Of(thread int) (Reading, bool) {
	dir := "/proc/self/task/" + strconv.Itoa(thread)
	status, err := procfile.Read(dir + "/status")
	if err != nil {
		return Reading{}, false
	}
	schedstat, err := procfile.Read(dir + "/schedstat")
	if err != nil {
		return Reading{}, false
	}
	ran, ok := Ran(thread)
	if !ok {
		return Reading{}, false
	}
	r := Reading{At: time.Now(), Ran: ran}
	var ok1, ok2 bool
	r.Queued, ok1 = parseSchedstat(schedstat)
	r.Runnable, r.Sleeps, ok2 = parseStatus(status)
	return r, ok1 && ok2
}

// Ran is Of's Ran alone, by one system call.
func Ran(thread int) (time.Duration, bool) {
	var ts unix.Timespec
	err := unix.ClockGettime(clockOf(thread), &ts)
	return time.Duration(ts.Nano()), err == nil
}

// Self is Of for the calling thread, but Queued is not known. It takes less than a microsecond:
// three system calls. thread is its number; 0: nothing is known.
func Self() (thread int, r Reading) {
	var ts unix.Timespec
	var usage unix.Rusage
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil || unix.Getrusage(unix.RUSAGE_THREAD, &usage) != nil {
		return 0, Reading{}
	}
	return Thread(), Reading{time.Now(), time.Duration(ts.Nano()), -1, uint64(usage.Nvcsw), true}
}

// clockOf is the clock of the CPU time of a thread. Unlike the figure in schedstat, which the
// timer's tick brings up to date, it is exact while the thread runs. (CPUCLOCK_PERTHREAD |
// CPUCLOCK_SCHED)
func clockOf(thread int) int32 { return ^int32(thread)<<3 | 4 | 2 }
