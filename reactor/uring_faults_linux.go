package reactor

import (
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/reactor/internal/uring"
)

// uringFaults makes operations fail as a test plans it. An operation that is to fail becomes a NOP
// before the kernel sees it, and its result is rewritten: the kernel has done nothing, so nothing
// is lost. An operation that is to be short requests less: a send fewer bytes, a receive or an
// accept one completion.
type uringFaults struct {
	plan *faults.Plan

	mu      sync.Mutex       // between the owner, which submits, and the taker of completions
	results map[uint64]int32 // by user data: at most one operation in flight has it

	dropped atomic.Uint32

	watched map[int]Token // by descriptor, the last Watch; guarded by mu
	renewed handIn[Token] // Watches that need another edge
	done    func()        // ends the notices of renew
}

func newURingFaults(cfg *Config) *uringFaults {
	if cfg.faults == nil {
		return nil
	}
	return &uringFaults{plan: cfg.faults, results: map[uint64]int32{}, watched: map[int]Token{}}
}

// next is Plan.Next for a call that is no operation; f may be nil.
func (f *uringFaults) next(call faults.Call) syscall.Errno {
	if f == nil {
		return 0
	}
	_, errno := f.plan.Next(call, 1)
	return errno
}

// tamper changes an entry that is ready to be submitted.
func (f *uringFaults) tamper(kind Kind, e *uring.SQE) {
	call, n := faultOf(kind, e)
	if n == 0 {
		return
	}
	switch most, errno := f.plan.Next(call, n); {
	case errno != 0:
		data := e.UserData
		*e = uring.SQE{}
		e.PrepNop()
		e.UserData = data
		f.mu.Lock()
		f.results[data] = -int32(errno)
		f.mu.Unlock()
	case most == n:
	case kind == Send:
		e.Len = uint32(most)
	case kind == Recv:
		e.Len = uint32(most)
		e.IOPrio &^= uring.IORING_RECV_MULTISHOT
	case kind == Accept:
		e.IOPrio &^= uring.IORING_ACCEPT_MULTISHOT
	}
}

// faultOf returns the plan's name of an operation, and the requested size. 0: it does not fail.
func faultOf(kind Kind, e *uring.SQE) (call faults.Call, n int) {
	switch kind {
	case Accept:
		return faults.Accept, maxAccepts
	case Connect:
		return faults.Connect, 1
	case Recv:
		return faults.Recv, 64 << 10
	case Send:
		return faults.Send, int(e.Len)
	case RecvFrom:
		return faults.RecvFrom, 1
	case SendTo:
		return faults.SendTo, 1
	case Watch:
		return faults.Control, 1
	case kindWake:
		return faults.WakeRead, 1
	case kindHold:
		return faults.Timer, 1
	}
	return 0, 0
}

// rewrite puts the planned result into a completion.
func (f *uringFaults) rewrite(e *uring.CQE) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if res, ok := f.results[e.UserData]; ok {
		delete(f.results, e.UserData)
		e.Res = res
	}
}

// watches notes a Watch.
func (f *uringFaults) watches(fd int, token Token) {
	f.mu.Lock()
	f.watched[fd] = token
	f.mu.Unlock()
}

// renew makes sure that a Watch has another edge, because a call of its user has failed as planned.
// Any goroutine may call it.
func (r *uringReactor) renew(fd int) {
	r.faults.mu.Lock()
	token, ok := r.faults.watched[fd]
	r.faults.mu.Unlock()
	if ok {
		r.faults.renewed.add(token)
		_ = r.waker.wake() // does not fail on the reactor's own descriptor
	}
}

// tellRenewed makes the edges. Poll only.
func (r *uringReactor) tellRenewed() {
	for _, token := range r.faults.renewed.take() {
		if r.flying.has(Watch, token) && !r.watches.at(token).canceled() {
			r.taking.Lock()
			r.stash.push(Completion{Token: token, Kind: Watch, More: true, Res: int(EdgeIn | EdgeOut)})
			r.taking.Unlock()
		}
	}
}

// drops reports whether a completion is dropped, as by a kernel that lacks memory. The kernel would
// leave an accepted descriptor open. Here it is closed, so that tests can count descriptors.
func (f *uringFaults) drops(e *uring.CQE) bool {
	if f.next(faults.Complete) == 0 {
		return false
	}
	f.dropped.Add(1)
	f.mu.Lock()
	_, planned := f.results[e.UserData]
	delete(f.results, e.UserData)
	f.mu.Unlock()
	if kind, _ := splitUserData(e.UserData); kind == Accept && e.Res >= 0 && !planned {
		_ = unix.Close(int(e.Res))
	}
	return true
}
