package sched

import (
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// newAlarm returns an alarm by a timer of the kernel, if the time is real and there is a
// descriptor left for it.
func newAlarm(realTime bool) alarm {
	if realTime {
		if a := newKernelAlarm(); a != nil {
			return a
		}
	}
	return newTimerAlarm()
}

// A kernelAlarm is an alarm by a timerfd. To set or cancel it wakes no thread.
type kernelAlarm struct {
	fd   int
	file *os.File
	raw  syscall.RawConn
	over atomic.Bool
	done func(uintptr) bool // a field: a new function would be an allocation
}

func newKernelAlarm() *kernelAlarm {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil
	}
	a := &kernelAlarm{fd: fd, file: os.NewFile(uintptr(fd), "timerfd")}
	a.done = func(uintptr) bool {
		var n [8]byte
		_, err := unix.Read(a.fd, n[:])
		return err != unix.EAGAIN
	}
	if err = a.file.SetReadDeadline(time.Time{}); err == nil { // else Go's poller has not taken it
		a.raw, err = a.file.SyscallConn()
	}
	if err != nil {
		_ = a.file.Close()
		return nil
	}
	return a
}

func (a *kernelAlarm) set(d time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	_, _, _ = unix.RawSyscall6(unix.SYS_TIMERFD_SETTIME, uintptr(a.fd), 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
}

func (a *kernelAlarm) cancel() { a.set(0) }

func (a *kernelAlarm) wait() bool {
	_ = a.raw.Read(a.done)
	if a.over.Load() {
		_ = a.file.Close()
		return false
	}
	return true
}

func (a *kernelAlarm) stop() {
	a.over.Store(true)
	a.set(1)
}
