package servertest

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// A half is one direction of a connection.
type half struct {
	limit int // bytes that may be buffered

	mu       sync.Mutex
	data     []byte        // written and not read
	finished bool          // by the writer: io.EOF follows
	unwanted bool          // by the reader: buffered bytes are dropped, and writes fail
	changed  chan struct{} // closed at the next change; nil: no call waits for one
}

// change wakes all waiting calls. The lock is held.
func (h *half) change() {
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
}

// next returns a channel that is closed at the next change. The lock is held.
func (h *half) next() <-chan struct{} {
	if h.changed == nil {
		h.changed = make(chan struct{})
	}
	return h.changed
}

// ended returns an error if the call must end: the connection is closed, or the deadline has
// passed.
func ended(closed, late <-chan struct{}) error {
	select {
	case <-closed:
		return net.ErrClosed
	default:
	}
	select {
	case <-late:
		return os.ErrDeadlineExceeded
	default:
		return nil
	}
}

func (h *half) read(p []byte, closed, late <-chan struct{}) (int, error) {
	for {
		if err := ended(closed, late); err != nil {
			return 0, err
		}
		h.mu.Lock()
		switch {
		case h.unwanted:
			h.mu.Unlock()
			return 0, io.EOF
		case len(h.data) > 0:
			n := copy(p, h.data)
			if h.data = h.data[n:]; len(h.data) == 0 {
				h.data = nil
			}
			h.change()
			h.mu.Unlock()
			return n, nil
		case h.finished:
			h.mu.Unlock()
			return 0, io.EOF
		}
		changed := h.next()
		h.mu.Unlock()
		select {
		case <-changed:
		case <-closed:
		case <-late:
		}
	}
}

func (h *half) write(p []byte, closed, late <-chan struct{}) (n int, err error) {
	for {
		if err := ended(closed, late); err != nil {
			return n, err
		}
		h.mu.Lock()
		if h.unwanted || h.finished {
			h.mu.Unlock()
			return n, os.NewSyscallError("write", syscall.EPIPE)
		}
		if m := min(len(p)-n, h.limit-len(h.data)); m > 0 {
			h.data = append(h.data, p[n:n+m]...)
			n += m
			h.change()
		}
		if n == len(p) {
			h.mu.Unlock()
			return n, nil
		}
		changed := h.next()
		h.mu.Unlock()
		select {
		case <-changed:
		case <-closed:
		case <-late:
		}
	}
}

// finish ends the half from the writer's side.
func (h *half) finish() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.finished = true
	h.change()
}

// refuse ends the half from the reader's side.
func (h *half) refuse() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unwanted, h.data = true, nil
	h.change()
}
