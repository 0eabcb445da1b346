package reactor

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A shortage is the time in which the reactor does not enter the kernel, because io_uring_enter has
// just failed for lack of memory. Owner only.
//
// No operation is lost or submitted twice: such a call has taken no entry, and prepared entries
// stay in the queue, from which only the kernel removes entries. Completions are reaped meanwhile.
// EBADR means dropped completions: see uring_loss_linux.go.
type shortage struct {
	pause time.Duration // length of the last one; 0: the last call did not fail for lack of memory
	until time.Time
}

const (
	minShortage = time.Millisecond
	maxShortage = 16 * time.Millisecond // a Wake may be delayed by this
)

// wantsMemory reports whether a later call may succeed.
func wantsMemory(errno syscall.Errno) bool { return errno == unix.ENOMEM || errno == unix.ENOBUFS }

// begin begins a shortage. If it follows another one directly, it is longer.
func (s *shortage) begin() {
	s.pause = min(max(minShortage, 2*s.pause), maxShortage)
	s.until = time.Now().Add(s.pause)
}

// over reports whether the kernel may be entered. It waits for the end of the shortage, at most as
// long as a Poll waits.
func (s *shortage) over(wait time.Duration) bool {
	left := time.Until(s.until)
	if left <= 0 || wait == 0 {
		return left <= 0
	}
	if wait > 0 && wait < left {
		time.Sleep(wait)
		return false
	}
	time.Sleep(left)
	return true
}

// refused begins a shortage and reports it.
func (r *uringReactor) refused(errno syscall.Errno) {
	r.shortage.begin()
	if r.cfg.OnShortage != nil {
		r.cfg.OnShortage(os.NewSyscallError("io_uring_enter", errno), r.shortage.pause)
	}
}
