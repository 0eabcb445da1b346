package conn

import (
	"io"
	"net"
	"os"

	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/waiter"
)

// Read implements net.Conn.
func (s *Socket) Read(p []byte) (int, error) {
	s.mu.Lock()
	if err, over := s.unreadable(); over || len(p) == 0 {
		closed := s.closed
		s.mu.Unlock()
		if len(p) == 0 && !closed {
			return 0, nil
		}
		return 0, s.readError(err)
	}
	if s.in.Bytes > 0 {
		n := s.in.Read(p)
		s.unlockRead()
		return n, nil
	}
	if err := s.exhausted(); err != nil {
		s.mu.Unlock()
		return 0, s.readError(err)
	}
	w := waiter.Get()
	w.P = p
	s.readers.Add(w)
	s.mu.Unlock()
	s.askAgain()
	<-w.Woke
	n, err := w.N, w.Err
	w.Put()
	if err != nil {
		return 0, s.readError(err)
	}
	return n, nil
}

// unreadable reports that, and why, nothing can be read whatever has arrived. The lock
// is held.
func (s *Socket) unreadable() (err error, over bool) {
	switch {
	case s.closed:
		return net.ErrClosed, true
	case s.readBy.Passed():
		return os.ErrDeadlineExceeded, true
	case s.deaf:
		return io.EOF, true
	}
	return nil, false
}

// exhausted is why nothing will arrive any more, or nil. The lock is held.
func (s *Socket) exhausted() error {
	switch {
	case s.failed != nil:
		return s.failed
	case s.eof:
		return io.EOF
	case s.gone: // by the Handle or a lender: what the peer still sent was dropped
		return net.ErrClosed
	}
	return nil
}

// serve gives those who wait what is in the queue, in turn, and with the last of it the
// end, if that has come. WriteTo, which has no buffer, takes it itself, and then calls
// this for those behind it. The lock is held.
func (s *Socket) serve(u *waiter.Wakeup) {
	for s.in.Bytes > 0 {
		w := s.readers.Take()
		if w == nil {
			return
		}
		u.Add(w)
		if w.P == nil {
			return
		}
		w.N = s.in.Read(w.P)
	}
	if err := s.exhausted(); err != nil {
		u.AddAll(&s.readers, err)
	}
}

// unlockRead is the end of a read: the lock is released, and receiving goes on if it
// was paused for what has now been read. Others may wait for what WriteTo has left.
func (s *Socket) unlockRead() {
	var u waiter.Wakeup
	if s.readers.Len() > 0 {
		s.serve(&u)
	}
	resume := s.held && s.in.Bytes <= min(s.c.group.cfg.LowWater, s.window()/4)
	if resume {
		s.held = false
	}
	freed := s.account()
	s.mu.Unlock()
	u.Wake()
	if freed {
		s.c.group.passOn()
	}
	if resume {
		_ = s.c.tell(command{kind: cmdDo, do: resumeRead}) // it may be over
	}
}

func resumeRead(c *Conn) { _ = c.ResumeRead() }

// WriteTo writes all that is read to w until the peer finishes, as io.Copy does, which
// calls it, but holds no buffer while nothing comes.
func (s *Socket) WriteTo(w io.Writer) (n int64, err error) {
	for {
		b, err := s.next()
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, s.readError(err)
		}
		m, err := w.Write(b.Data[b.From:])
		if err == nil && m < len(b.Data)-b.From {
			err = io.ErrShortWrite
		}
		b.Put()
		n += int64(m)
		if err != nil {
			return n, err
		}
	}
}

// next waits until something has arrived, and takes it.
func (s *Socket) next() (*bufs.Block, error) {
	for {
		s.mu.Lock()
		if err, over := s.unreadable(); over {
			s.mu.Unlock()
			return nil, err
		}
		if b := s.in.Take(); b != nil {
			s.unlockRead()
			return b, nil
		}
		if err := s.exhausted(); err != nil {
			s.mu.Unlock()
			return nil, err
		}
		w := waiter.Get() // without a buffer: it is told when there is something
		s.readers.Add(w)
		s.mu.Unlock()
		s.askAgain()
		<-w.Woke
		err := w.Err
		w.Put()
		if err != nil {
			return nil, err
		}
	}
}

// lentWindow is how much a Socket that is lent keeps of what has arrived and is not read, in
// bytes. A body that no handler reads stays in the kernel, as with package net's connections.
const lentWindow = 64 << 10

// window is how much is kept before the peer is held back.
func (s *Socket) window() int {
	if s.lender != nil {
		return min(s.c.group.cfg.HighWater, lentWindow)
	}
	return s.c.group.cfg.HighWater
}
