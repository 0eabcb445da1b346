//go:build unix

package reactor

import (
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/faults"
)

// An injector makes system calls fail as a test plans it, and only in ways in which a kernel may
// fail. After EAGAIN from an edge-triggered descriptor, or after fewer bytes than requested, a
// caller may wait for an edge. So the injector makes sure that there is one.
type injector struct {
	plan *faults.Plan

	mu      sync.Mutex
	watched map[int]registration        // by descriptor: the last one
	again   func(fd int, number uint32) // makes the kernel report the whole state of a descriptor again; nil: no descriptors are watched
	done    func()                      // ends the notices of Calls
}

// A registration is that of a descriptor with a poller.
type registration struct {
	number  uint32 // the descriptor's sequence number
	isWatch bool   // the owner makes the calls, and needs edges after those that fail
}

// newKernel returns the kernel. Its calls fail as cfg says.
func newKernel(cfg *Config) kernel {
	if cfg.faults == nil {
		return kernel{}
	}
	return kernel{&injector{plan: cfg.faults, watched: map[int]registration{}}}
}

// next is Plan.Next. The edge is requested before the call. The next wait reports it if the
// descriptor is still ready then.
func (i *injector) next(call faults.Call, fd, n int) (int, syscall.Errno) {
	most, errno := i.plan.Next(call, n)
	if errno == unix.EAGAIN || most < n && errno == 0 {
		i.renew(fd)
	}
	return most, errno
}

func (i *injector) watches(fd int, number uint32, isWatch bool) {
	i.mu.Lock()
	i.watched[fd] = registration{number, isWatch}
	i.mu.Unlock()
}

// renews makes the injector renew the edges of a poller. Those of a Watch it renews also after
// calls of Calls. k may have no injector.
func (k kernel) renews(again func(fd int, number uint32)) {
	if k.faults != nil {
		k.faults.again = again
		k.faults.done = k.faults.plan.OnRenew(k.faults.renewWatch)
	}
}

// close ends that.
func (k kernel) close() {
	if k.faults != nil && k.faults.done != nil {
		k.faults.done()
	}
}

// unwatches notes that a descriptor is not watched any more.
func (k kernel) unwatches(fd int) {
	if k.faults != nil {
		k.faults.mu.Lock()
		delete(k.faults.watched, fd)
		k.faults.mu.Unlock()
	}
}

// renew requests the edge. A descriptor that has been closed, or was never watched, has none.
func (i *injector) renew(fd int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if r, ok := i.watched[fd]; ok {
		i.again(fd, r.number)
	}
}

// renewWatch is renew for a call that the owner of a Watch has made.
func (i *injector) renewWatch(fd int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if r := i.watched[fd]; r.isWatch {
		i.again(fd, r.number)
	}
}
