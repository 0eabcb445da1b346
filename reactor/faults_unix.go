//go:build unix

package reactor

import (
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/faults"
)

// An injector has system calls fail as a test plans it, and not otherwise than a
// kernel may: whoever hears EAGAIN from an edge-triggered descriptor, or gets less
// than was asked for, may wait for an edge, so there has to be one.
type injector struct {
	plan *faults.Plan

	mu      sync.Mutex
	watched map[int]uint32              // sequence numbers by descriptor, of when it began to be watched last
	again   func(fd int, number uint32) // makes an edge of all that is true of a descriptor; nil: nothing is watched
}

// newKernel is the kernel, in which the calls fail as cfg has it.
func newKernel(cfg *Config) kernel {
	if cfg.Faults == nil {
		return kernel{}
	}
	return kernel{&injector{plan: cfg.Faults, watched: map[int]uint32{}}}
}

// next is Plan.Next. The edge is ordered before the call, and met by the next wait
// if there is still something then.
func (i *injector) next(call faults.Call, fd, n int) (int, syscall.Errno) {
	most, errno := i.plan.Next(call, n)
	if errno == unix.EAGAIN || most < n && errno == 0 {
		i.renew(fd)
	}
	return most, errno
}

func (i *injector) watches(fd int, number uint32) {
	i.mu.Lock()
	i.watched[fd] = number
	i.mu.Unlock()
}

// renew asks for that edge. A descriptor that has been closed, or was never watched,
// has none.
func (i *injector) renew(fd int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if number, ok := i.watched[fd]; ok {
		i.again(fd, number)
	}
}
