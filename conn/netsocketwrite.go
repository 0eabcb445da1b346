package conn

import (
	"io"
	"net"
	"os"
	"syscall"

	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/internal/waiter"
)

// Write implements net.Conn. It is not mixed with the writes of other goroutines. With
// an error, the bytes it counts may still be sent.
func (s *Socket) Write(p []byte) (n int, err error) {
	if err := s.beginWrite(); err != nil {
		return 0, s.writeError(err)
	}
	for n < len(p) {
		m, err := s.c.put(p[n:], s)
		n += m
		if err == nil && n < len(p) {
			err = s.awaitRoom()
		}
		if err != nil {
			s.endWrite()
			return n, s.writeError(err)
		}
	}
	s.endWrite()
	return n, nil
}

// beginWrite waits for the turn.
func (s *Socket) beginWrite() error {
	s.mu.Lock()
	err := s.unwritable()
	if err != nil || !s.writing {
		s.writing = s.writing || err == nil
		s.mu.Unlock()
		return err
	}
	w := waiter.Get()
	s.writers.Add(w)
	s.mu.Unlock()
	<-w.Woke
	err = w.Err
	w.Put()
	return err
}

// endWrite gives the turn to the next.
func (s *Socket) endWrite() {
	s.mu.Lock()
	next := s.nextWriter()
	s.mu.Unlock()
	if next != nil {
		next.Wake()
	}
}

// nextWriter is whose turn it is; nil: nobody's. The lock is held.
func (s *Socket) nextWriter() *waiter.Waiter {
	w := s.writers.Take()
	s.writing = w != nil
	return w
}

// unwritable is why nothing can be written, or nil. The lock is held.
func (s *Socket) unwritable() error {
	switch {
	case s.closed:
		return net.ErrClosed
	case s.writeBy.Passed():
		return os.ErrDeadlineExceeded
	case s.mute:
		return sock.Error("write", syscall.EPIPE)
	case s.failed != nil:
		return s.failed
	case s.gone:
		return sock.Error("write", syscall.EPIPE)
	}
	return nil
}

// awaitRoom waits until the queue has room. put has said that it had none, and that
// this is to be told: madeRoom does so, before or after the lock is taken here.
func (s *Socket) awaitRoom() error {
	s.mu.Lock()
	if err := s.unwritable(); err != nil || s.room {
		s.room = false
		s.mu.Unlock()
		return err
	}
	w := waiter.Get()
	s.forRoom = w
	s.mu.Unlock()
	<-w.Woke
	err := w.Err
	w.Put()
	return err
}

// madeRoom is called when a send has ended, by the worker that has noticed.
func (s *Socket) madeRoom() {
	s.mu.Lock()
	w := s.forRoom
	s.forRoom, s.room = nil, w == nil
	s.mu.Unlock()
	if w != nil {
		w.Wake()
	}
}

// stopWriters ends all writes that wait. The lock is held.
func (s *Socket) stopWriters(u *waiter.Wakeup, err error) {
	u.AddAll(&s.writers, err)
	if w := s.forRoom; w != nil {
		s.forRoom, w.Err = nil, err
		u.Add(w)
	}
}

// ReadFrom writes all that is read from r, as io.Copy does, which calls it.
func (s *Socket) ReadFrom(r io.Reader) (n int64, err error) {
	b := bufs.GetBlock(bufs.Large)
	defer b.Put()
	for {
		m, rerr := r.Read(b.Data[:cap(b.Data)])
		if m > 0 {
			w, err := s.Write(b.Data[:m])
			n += int64(w)
			if err != nil {
				return n, err
			}
		}
		if rerr == io.EOF {
			return n, nil
		}
		if rerr != nil {
			return n, rerr
		}
	}
}
