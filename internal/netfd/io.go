package netfd

import (
	"context"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/suiro-go/suiro/internal/readiness"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/sched"
)

// The directions of calls.
const (
	In  = readiness.In
	Out = readiness.Out
)

// Read receives into p. It waits until there is a byte. The error is io.EOF at the end,
// net.ErrClosed, os.ErrDeadlineExceeded, readiness.ErrInUse, that of sched.Block, or that of the
// system call. 0 bytes into an empty p are no error.
func (fd *FD) Read(ctx context.Context, p []byte) (int, error) {
	h := &fd.halves[In]
	if err := h.enter(); err != nil {
		return 0, err
	}
	defer h.leave()
	if len(p) == 0 {
		return 0, nil
	}
	if err := h.fair(ctx); err != nil {
		return 0, err
	}
	n, _, err := receive(ctx, h, given(p))
	return n, err
}

// A destination is where a receive puts bytes.
type destination interface {
	room() []byte // for the system call that is about to be made
	filled(n int) // so many bytes of the room: 0 if the call has received none
}

// given is a destination that its user has brought.
type given []byte

func (p given) room() []byte { return p }
func (given) filled(int)     {}

// receive is a call that has begun. final says that the error is the socket's: it has received the
// end, or has failed.
func receive[D destination](ctx context.Context, h *half, to D) (n int, final bool, err error) {
	fd := h.fd
	for {
		errno := syscall.EAGAIN
		if h.asks() {
			p := to.room()
			n, errno = fd.calls.TryRecv(fd.end.FD, p)
			h.drained = errno == syscall.EAGAIN || 0 < n && n < len(p) && fd.kind == TCP && fd.marks.Load() == 0
			to.filled(max(n, 0))
			switch {
			case n > 0:
				return n, false, nil
			case errno == 0:
				return 0, true, io.EOF
			case !temporary(errno):
				return 0, true, sock.Error("read", errno)
			}
		}
		if err := h.pause(ctx, errno); err != nil {
			return 0, false, err
		}
	}
}

// Write sends all of p. It waits for room as often as needed. It returns how much the kernel has
// taken, and an error if that is not all, see Read.
func (fd *FD) Write(ctx context.Context, p []byte) (int, error) {
	h := &fd.halves[Out]
	if err := h.enter(); err != nil {
		return 0, err
	}
	defer h.leave()
	if err := h.fair(ctx); err != nil {
		return 0, err
	}
	for sent := 0; ; {
		if sent == len(p) {
			return sent, nil
		}
		errno := syscall.EAGAIN
		if h.asks() {
			var n int
			n, errno = fd.calls.TrySend(fd.end.FD, p[sent:], nil)
			sent += n
			h.drained = errno == syscall.EAGAIN
			switch {
			case errno == 0:
				continue
			case !temporary(errno):
				return sent, sock.Error("write", errno)
			}
		}
		if err := h.pause(ctx, errno); err != nil {
			return sent, err
		}
	}
}

// Do makes the system call of a direction that f is, as often as it takes: f returns EAGAIN when it
// has to wait. The result is f's, or an error as that of Read. f must not block.
func (fd *FD) Do(ctx context.Context, d readiness.Direction, f func(sysfd int) syscall.Errno) error {
	h := &fd.halves[d]
	if err := h.enter(); err != nil {
		return err
	}
	defer h.leave()
	if err := h.fair(ctx); err != nil {
		return err
	}
	for {
		h.drained = false
		errno := syscall.EAGAIN
		if h.asks() {
			errno = f(fd.end.FD)
			if !temporary(errno) {
				return sock.Error("call", errno)
			}
		}
		if err := h.pause(ctx, errno); err != nil {
			return err
		}
	}
}

// fair is the beginning of a call: the deadline holds although the call would not wait, and a task
// whose calls never wait gives way to others.
func (h *half) fair(ctx context.Context) error {
	if h.HasDeadline() && h.Late(h.fd.group.RT.Now()) {
		return os.ErrDeadlineExceeded
	}
	if !sched.FromContext(ctx).Proceed() {
		_, err := sched.Await(ctx, sched.Yield())
		return err
	}
	return nil
}

// shortage is how long a call waits when the kernel lacks memory: no edge tells when there is some.
const shortage = time.Millisecond

// pause waits after a temporary errno: for an edge after EAGAIN, for memory after ENOBUFS. After
// EINTR it returns at once.
func (h *half) pause(ctx context.Context, errno syscall.Errno) (err error) {
	switch errno {
	case syscall.EAGAIN:
		err = h.await(ctx)
	case syscall.ENOBUFS:
		_, err = sched.Block(ctx, h.fd.group.RT, sched.Sleep(shortage))
	}
	return err
}
