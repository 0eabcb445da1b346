package reactor

import (
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/windows"

	"github.com/suiro-go/suiro/internal/faults"
)

// A portWaker lets other goroutines end a wait, by a packet that belongs to no request.
//
// A wake posts a packet only if no packet of an earlier wake is on its way. noticed clears the
// flag, after the packet has been taken and before Poll returns. So after a wake that finds the
// flag set, Poll always returns, and no wake is lost. A rescuer that takes the packet leaves the
// flag set and sets rescued for the next Poll, which then does not wait and clears the flag.
type portWaker struct {
	kernel kernel
	set    atomic.Bool

	mu     sync.Mutex // held while posting, so that port is not closed, and its number not reused, meanwhile
	port   windows.Handle
	closed bool
}

func (w *portWaker) wake() error {
	if w.set.Swap(true) {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.closed {
		if _, errno := w.kernel.next(faults.WakeWrite, -1, 1); errno != 0 {
			continue // a post is not interrupted, but try again anyway
		}
		if err := windows.PostQueuedCompletionStatus(w.port, 0, 0, nil); err != nil {
			w.set.Store(false) // the kernel lacks memory: the next wake tries again
			return os.NewSyscallError("PostQueuedCompletionStatus", err)
		}
		return nil
	}
	return nil
}

// noticed allows the next wake to post again.
func (w *portWaker) noticed() { w.set.Store(false) }

func (w *portWaker) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.closed = true
		_ = windows.CloseHandle(w.port)
	}
}
