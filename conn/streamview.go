package conn

import (
	"fmt"
	"io"

	"github.com/suiro-go/suiro/internal/bufs"
	"github.com/suiro-go/suiro/internal/core"
)

// Buffered is the number of bytes that can be read without waiting.
func (s *Stream) Buffered() int {
	if s.isHere() {
		return len(s.c.In.Unread)
	}
	if k, err := s.tries(); err == nil {
		return k.duplex.Buffered()
	}
	return 0
}

// Peek waits until n bytes have been received, and returns them in place without reading them. For
// n < 0 it waits for one byte, and returns as many as lie in one piece. The slice is valid until
// the next call of a method that reads, and in a function of a handler only until the function
// waits for anything. Write to the same Stream may be given the slice all the same. The caller must
// not change it. While Peek waits, nothing is allocated for the bytes.
//
// With an error, Peek returns the bytes that there are, fewer than n, which stay unread. If the
// peer finishes before n bytes, the error is io.EOF if there are none, else io.ErrUnexpectedEOF. If
// n is above Config.MaxRead and not all are there, it matches io.ErrShortBuffer. Other errors are
// those of Read.
//
// As for Read, a task that is not a function of the handler needs a Stream of Bind. One task at a
// time may use Peek, Next, Discard and WriteTo of a connection.
func (s *Stream) Peek(n int) ([]byte, error) { return s.view(n, false) }

// Next is Peek, and reads the bytes. With an error it reads nothing, and returns no bytes.
func (s *Stream) Next(n int) ([]byte, error) { return s.view(n, true) }

// Discard reads n bytes and drops them, as they arrive. A negative n is for all that is buffered:
// it waits for one byte. It returns how many those were. If they are fewer than n, the error says
// why, as that of Peek.
func (s *Stream) Discard(n int) (dropped int, err error) {
	for n < 0 || dropped < n {
		p, err := s.Peek(-1)
		if err == io.EOF && dropped > 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return dropped, err
		}
		more := len(p)
		if n >= 0 {
			more = min(more, n-dropped)
		}
		if _, err := s.Next(more); err != nil {
			return dropped, err
		}
		dropped += more
		if n < 0 && s.Buffered() == 0 {
			break
		}
	}
	return dropped, nil
}

// WriteTo implements io.WriterTo, for io.Copy: it writes all that is read to w until the peer
// finishes. It holds no buffer while it waits for bytes. Bytes that w does not take stay unread.
func (s *Stream) WriteTo(w io.Writer) (n int64, err error) {
	for {
		p, err := s.Peek(-1)
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		var b *bufs.Block
		if s.isHere() && w != io.Writer(s) { // w may wait
			p = p[:min(len(p), bufs.Large)]
			b = bufs.GetBlock(len(p))
			p = append(b.Data, p...)
		}
		s.setAsked(true)
		m, err := w.Write(p)
		if err == nil && m < len(p) {
			err = io.ErrShortWrite
		}
		if b != nil {
			b.Put()
		}
		n += int64(m)
		if m > 0 {
			asked := s.hasAsked() // w may have answered on s
			_, _ = s.Next(m)      // there are so many, unless the Stream was closed
			s.setAsked(asked)
		}
		if err != nil {
			return n, err
		}
	}
}

// hasAsked reports whether something was read after the last write.
func (s *Stream) hasAsked() bool {
	if s.isHere() {
		return s.asked
	}
	k := s.shared.Load()
	return k != nil && k.duplex.Asked()
}

// setAsked sets it, see hasAsked.
func (s *Stream) setAsked(asked bool) {
	if s.isHere() {
		s.asked = asked
	} else if k := s.shared.Load(); k != nil {
		k.duplex.SetAsked(asked)
	}
}

// ReadFrom implements io.ReaderFrom, for io.Copy: it writes all that is read from r. A regular
// file, or an io.LimitedReader over one, is sent as SendFile does, up to its present size. Its
// position moves behind that.
func (s *Stream) ReadFrom(r io.Reader) (int64, error) {
	if from, ok := r.(*Stream); ok {
		return from.WriteTo(s)
	}
	if n, handled, err := s.sendFileOf(r); handled {
		return n, err
	}
	b := bufs.GetBlock(bufs.Large)
	defer b.Put()
	return io.CopyBuffer(struct{ io.Writer }{s}, struct{ io.Reader }{r}, b.Data[:cap(b.Data)])
}

var (
	_ io.WriterTo   = (*Stream)(nil)
	_ io.ReaderFrom = (*Stream)(nil)
)

// view is Peek, or Next if take is true.
func (s *Stream) view(n int, take bool) ([]byte, error) {
	for s.isHere() {
		p, ready, err := s.tryView(n)
		switch {
		case !ready && s.outlives():
			return nil, s.opError("read", errReturned)
		case !ready:
			s.wants = max(s.wants, n)
			s.running.co.BeforeSuspend().Suspend()
			continue
		case !take:
			s.viewed = len(p)
			return p, err
		case err != nil:
			return nil, err
		}
		s.c.In.Unread = s.c.In.Unread[len(p):]
		s.asked, s.viewed = true, len(p)
		return p, nil
	}
	k, cx, err := s.waits()
	if err != nil {
		return nil, s.opError("read", err)
	}
	p, loan, err := k.duplex.ViewIn(cx, s.loan, n, take, s.quitter())
	if s.isOverFor(err) {
		cx.Shield()
		p, loan, err = k.duplex.ViewIn(cx, loan, n, take, nil)
		cx.Unshield()
	}
	s.loan = loan
	switch err {
	case nil, io.EOF, io.ErrUnexpectedEOF:
	case io.ErrShortBuffer:
		err = k.opError("read", tooFar(n, k.conn()))
	default:
		err = k.wrap("read", err)
	}
	return p, err
}

// tryView returns the bytes that can be read in place. If fewer than n bytes have been received and
// more may follow, ready is false.
func (s *Stream) tryView(n int) (p []byte, ready bool, err error) {
	if err := s.unreadable(); err != nil {
		return nil, true, err
	}
	p = s.c.In.Unread
	switch {
	case n <= len(p) && (n >= 0 || len(p) > 0): // also above MaxRead: a burst may have exceeded that
		if n >= 0 {
			p = p[:n]
		}
		return p[:len(p):len(p)], true, nil
	case n > s.c.Group.Config.MaxRead:
		return p, true, s.opError("read", tooFar(n, s.c))
	}
	err = s.exhausted()
	if err == io.EOF && len(p) > 0 {
		err = io.ErrUnexpectedEOF
	}
	return p, err != nil, err
}

func tooFar(n int, c *core.Conn) error {
	return fmt.Errorf("conn: %d bytes in place are more than Config.MaxRead, %d: %w", n, c.Group.Config.MaxRead, io.ErrShortBuffer)
}

// giveBack ends the use of bytes that were returned in place.
func (s *Stream) giveBack(k *Socket) {
	if s.loan != (bufs.Loan{}) {
		k.duplex.Return(s.loan)
		s.loan = bufs.Loan{}
	}
}
