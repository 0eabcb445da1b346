package netfd

import (
	"context"
	"fmt"
	"io"

	"github.com/suiro-go/suiro/internal/bufs"
)

// An Input is what an FD has received and nobody has read yet. It has memory only while there are
// such bytes, and for those that were returned in place: not while a call waits for the first one.
//
// Its methods are calls in the direction In, with the errors of FD.Read. They are for all that is
// received from the FD: FD.Read would overtake them. A second call at the same time is refused.
type Input struct {
	fd     *FD
	most   int         // bytes in place
	block  *bufs.Block // Data[From:] is unread; nil: nothing is
	want   int         // bytes that the call needs in one piece
	much   bool        // the last receive has filled all its room
	failed error       // of the receive that came after the unread bytes
}

// NewInput is for an FD from which nothing is received otherwise. A Peek or a Next of more bytes
// than most fails.
func NewInput(fd *FD, most int) *Input { return &Input{fd: fd, most: most} }

// Buffered is how many bytes can be read without waiting. Only the reader may ask.
func (in *Input) Buffered() int { return len(in.unread()) }

// Read reads buffered bytes, or receives into p.
func (in *Input) Read(ctx context.Context, p []byte) (n int, err error) {
	h, err := in.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer h.leave()
	switch {
	case len(p) == 0:
		return 0, nil
	case in.block != nil:
		n = copy(p, in.unread())
		in.block.From += n
		in.tidy()
		return n, nil
	case in.failed != nil:
		return 0, in.failed
	}
	n, final, err := receive(ctx, h, given(p))
	if final {
		in.failed = err
	}
	return n, err
}

// Peek returns n bytes in place, which stay unread. For n < 0 it waits for one byte, and returns as
// many as lie in one piece. The slice is valid until the next call that reads.
//
// With an error it returns the bytes that there are, fewer than n. If the peer has finished before
// n bytes, that is io.EOF if there are none, else io.ErrUnexpectedEOF. It matches io.ErrShortBuffer
// if n is above the bound and not all are there.
func (in *Input) Peek(ctx context.Context, n int) ([]byte, error) {
	h, err := in.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer h.leave()
	return in.view(ctx, h, n)
}

// Next is Peek, and reads the bytes. With an error it reads nothing, and returns no bytes.
func (in *Input) Next(ctx context.Context, n int) ([]byte, error) {
	h, err := in.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer h.leave()
	p, err := in.view(ctx, h, n)
	if err != nil {
		return nil, err
	}
	if len(p) > 0 {
		in.block.From += len(p)
	}
	return p, nil
}

// Discard reads n bytes as they arrive, and drops them. A negative n is for all that is buffered:
// it waits for one byte. If it drops fewer than n, the error says why, as that of Peek.
func (in *Input) Discard(ctx context.Context, n int) (dropped int, err error) {
	h, err := in.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer h.leave()
	for n < 0 || dropped < n {
		p, err := in.view(ctx, h, -1)
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
		in.block.From += more
		in.tidy()
		dropped += more
		if n < 0 {
			break
		}
	}
	return dropped, nil
}

// begin begins a call. The bytes that the call before has returned are out of use then.
func (in *Input) begin(ctx context.Context) (*half, error) {
	h := &in.fd.halves[In]
	if err := h.enter(); err != nil {
		return nil, err
	}
	in.tidy()
	if err := h.fair(ctx); err != nil {
		h.leave()
		return nil, err
	}
	return h, nil
}

// view is Peek, in a call that has begun.
func (in *Input) view(ctx context.Context, h *half, n int) ([]byte, error) {
	for {
		p := in.unread()
		switch {
		case n >= 0 && n <= len(p): // also above the bound
			return p[:n:n], nil
		case n < 0 && len(p) > 0:
			return p[:len(p):len(p)], nil
		case n > in.most:
			return p[:len(p):len(p)], fmt.Errorf("%d bytes in place are more than %d: %w", n, in.most, io.ErrShortBuffer)
		case in.failed == io.EOF && len(p) > 0:
			return p[:len(p):len(p)], io.ErrUnexpectedEOF
		case in.failed != nil:
			return p[:len(p):len(p)], in.failed
		}
		in.want = n
		if _, final, err := receive(ctx, h, in); final {
			in.failed = err
		} else if err != nil {
			p = in.unread()
			return p[:len(p):len(p)], err
		}
	}
}

// unread are the bytes that are buffered, in one piece.
func (in *Input) unread() []byte {
	if in.block == nil {
		return nil
	}
	return in.block.Data[in.block.From:]
}

// room implements destination. It grows as bytes arrive, and not to the size that is wanted.
func (in *Input) room() []byte {
	b := in.block
	switch {
	case b == nil && in.much:
		b = bufs.GetBlock(bufs.Large)
	case b == nil:
		b = bufs.GetBlock(bufs.Small)
	case len(b.Data) < cap(b.Data):
	case cap(b.Data) >= in.want: // then some at its beginning are read
		b.Data, b.From = b.Data[:copy(b.Data, b.Data[b.From:])], 0
	default:
		unread := b.Data[b.From:]
		bigger := bufs.BlockFor(min(in.want, 2*len(unread)))
		bigger.Data = append(bigger.Data, unread...)
		b.Put()
		b = bigger
	}
	in.block = b
	return b.Data[len(b.Data):cap(b.Data)]
}

// filled implements destination.
func (in *Input) filled(n int) {
	b := in.block
	if n > 0 {
		in.much = len(b.Data)+n == cap(b.Data)
		b.Data = b.Data[:len(b.Data)+n]
	}
	in.tidy()
}

// tidy gives memory back that has no unread bytes.
func (in *Input) tidy() {
	if b := in.block; b != nil && b.From == len(b.Data) {
		b.Put()
		in.block = nil
	}
}
