package load

import (
	"fmt"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// raisePriority lets the load run as soon as it is woken, whatever the servers do, and returns what
// it got. It is done for all threads there are, from which later ones inherit.
func raisePriority(how string) (string, error) {
	set := map[string]func(tid int) error{"fifo": setFIFO, "nice": setNice}
	switch how {
	case "", "none":
		return how, nil
	case "auto":
		for _, how := range []string{"fifo", "nice"} {
			if forThreads(set[how]) == nil {
				return how, nil
			}
		}
		return "none", nil
	}
	f, ok := set[how]
	if !ok {
		return "", fmt.Errorf("load: priority %q: want auto, fifo, nice or none", how)
	}
	return how, forThreads(f)
}

func forThreads(f func(tid int) error) error {
	dir, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, d := range dir {
		tid, err := strconv.Atoi(d.Name())
		if err == nil {
			err = f(tid)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func setFIFO(tid int) error {
	priority := int32(1)
	_, _, errno := unix.Syscall(unix.SYS_SCHED_SETSCHEDULER, uintptr(tid), unix.SCHED_FIFO, uintptr(unsafe.Pointer(&priority)))
	if errno != 0 {
		return os.NewSyscallError("sched_setscheduler", errno)
	}
	return nil
}

func setNice(tid int) error {
	return os.NewSyscallError("setpriority", unix.Setpriority(unix.PRIO_PROCESS, tid, -10))
}
