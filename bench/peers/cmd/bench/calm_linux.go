package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A run of an open loop is measured again if one of these limits is exceeded, calms times at most.
// The server causes neither: the load looks at the clock after each message.
const (
	calms     = 4
	lateLimit = 100 * time.Microsecond // p99 of the load's own lateness
	busyLimit = 0.02                   // others' share of the servers' CPUs
)

// calm removes delays from latencies that the server does not cause. It returns the measures that
// the system refused.
//
// Until release is called, idle CPUs poll rather than halt (PM QoS: cpu_dma_latency). A halted CPU
// takes a while to wake. A virtual one waits for its host, perhaps for milliseconds, and then a
// latency at half of the load is the host's. The server runs before other processes on its CPU
// (SCHED_FIFO).
func calm(pid int) (release func(), refused []string) {
	release = func() {}
	f, err := os.OpenFile("/dev/cpu_dma_latency", os.O_WRONLY, 0)
	if err == nil {
		release = func() { _ = f.Close() }
		_, err = f.Write(make([]byte, 4)) // no latency at all
	}
	if err != nil {
		refused = append(refused, "the CPUs could go idle: "+err.Error())
	}
	if err := raiseServer(pid); err != nil {
		refused = append(refused, "servers had no priority: "+err.Error())
	}
	return release, refused
}

// raiseServer gives all threads of a process a priority, which later ones inherit.
func raiseServer(pid int) error {
	dir, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, d := range dir {
		tid, err2 := strconv.Atoi(d.Name())
		if err2 != nil {
			return err2
		}
		priority := int32(1)
		_, _, errno := unix.Syscall(unix.SYS_SCHED_SETSCHEDULER, uintptr(tid), unix.SCHED_FIFO, uintptr(unsafe.Pointer(&priority)))
		if errno != 0 && errno != unix.ESRCH { // it has ended
			err = errors.Join(err, os.NewSyscallError("sched_setscheduler", errno))
		}
	}
	return err
}

// disturbed says what disturbed a run that was to be calm, or "".
func disturbed(s sample) string {
	var words []string
	if late := s.Outcome.Late.P99; late > lateLimit {
		words = append(words, fmt.Sprintf("the load was %v late", late))
	}
	if s.Foreign > busyLimit {
		words = append(words, fmt.Sprintf("others had %.0f %% of the CPU", 100*s.Foreign))
	}
	if s.Stolen > 0 {
		words = append(words, fmt.Sprintf("the host had %.1f %% of the CPUs", 100*s.Stolen))
	}
	return strings.Join(words, ", ")
}

// refusals are the steps of calm that were refused, each once.
func refusals(samples []sample) (all []string) {
	for _, s := range samples {
		for _, r := range s.Refused {
			if !slices.Contains(all, r) {
				all = append(all, r)
			}
		}
	}
	return all
}
