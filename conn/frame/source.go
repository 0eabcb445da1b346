package frame

import (
	"errors"
	"fmt"
	"io"
	"iter"
)

// A Source is a stream with a buffer: a *conn.Conn, a *conn.Stream or a *bufio.Reader.
type Source interface {
	// Buffered is the number of bytes that can be had without waiting.
	Buffered() int

	// Peek is the next n bytes without reading them, or fewer and an error.
	Peek(n int) ([]byte, error)

	// Discard reads n bytes. Slices from Peek stay valid while those are
	// buffered ones.
	Discard(n int) (int, error)
}

// All is an iterator over the frames that src has buffered. It ends when no
// complete frame is left, or after an error.
//
// A frame is read from src when the loop's body sees it: the body may leave the
// loop, or use src itself for the bytes behind the frame. A frame is valid until
// src waits for more or, for a *conn.Conn, until the handler's method returns.
func All(src Source, d Decoder) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for {
			f, _, err := Next(src, d)
			if errors.Is(err, ErrIncomplete) {
				return
			}
			if !yield(f, err) || err != nil {
				return
			}
		}
	}
}

// Next decodes what src has buffered, and reads the frame it finds. Its results
// are those of Decode: with ErrIncomplete, n is the least that must be buffered
// before there can be a frame.
func Next(src Source, d Decoder) (frame []byte, n int, err error) {
	b, err := src.Peek(src.Buffered())
	if err != nil {
		return nil, 0, err
	}
	frame, n, err = d.Decode(b)
	if err != nil {
		return nil, wanted(b, n, err), err
	}
	consumed(b, n)
	_, err = src.Discard(n)
	return frame, n, err
}

// Read waits for the next frame of a src whose Peek waits, as a *bufio.Reader's
// does; from one whose Peek does not, it returns that one's error. At the end
// of the stream it returns io.EOF, within a frame an error that matches
// io.ErrUnexpectedEOF. The frame is valid until src is read from again.
//
// A src with a buffer of limited size must have room for a whole frame.
func Read(src Source, d Decoder) ([]byte, error) {
	for {
		frame, n, err := Next(src, d)
		if !errors.Is(err, ErrIncomplete) {
			return frame, err
		}
		b, err := src.Peek(n)
		if err == nil || len(b) >= n {
			continue
		}
		if err != io.EOF && err != io.ErrUnexpectedEOF {
			return nil, err
		}
		frame, n, err = AtEOF(d, b)
		if err != nil {
			return nil, err
		}
		_, err = src.Discard(n)
		return frame, err
	}
}

// Each is an iterator over the frames of a src whose Peek waits: a *conn.Stream or a *bufio.Reader.
// It waits for each frame as Read does. It ends at the end of the stream, or after it has given an
// error, which may be io.ErrUnexpectedEOF within a frame.
//
// A frame is read from src when the loop's body sees it. So the body may leave the loop, or use src
// itself for the bytes behind the frame. A frame is valid until src is read from again and, of a
// handler's *conn.Stream, until the function waits for anything.
func Each(src Source, d Decoder) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for {
			f, err := Read(src, d)
			if err == io.EOF || !yield(f, err) || err != nil {
				return
			}
		}
	}
}

// AtEOF is Decode for a b behind which nothing will follow: instead of
// ErrIncomplete it returns io.EOF if b is empty. Else it returns d's last frame
// (see EOFDecoder), or an error that matches io.ErrUnexpectedEOF.
func AtEOF(d Decoder, b []byte) (frame []byte, n int, err error) {
	frame, n, err = d.Decode(b)
	switch {
	case err == nil:
		consumed(b, n)
		return frame, n, nil
	case !errors.Is(err, ErrIncomplete):
		return nil, 0, err
	case len(b) == 0:
		return nil, 0, io.EOF
	}
	e, ok := d.(EOFDecoder)
	if !ok {
		return nil, 0, truncated(len(b), n)
	}
	frame, n, err = e.DecodeEOF(b)
	if err != nil {
		return nil, 0, err
	}
	consumed(b, n)
	return frame, n, nil
}

// consumed catches the mistakes of decoders that would loop for ever or lose
// their place.
func consumed(b []byte, n int) {
	if n <= 0 || n > len(b) {
		panic(fmt.Sprintf("frame: a Decoder found a frame that takes %d of %d bytes", n, len(b)))
	}
}

func wanted(b []byte, n int, err error) int {
	if !errors.Is(err, ErrIncomplete) {
		return 0
	}
	if n <= len(b) {
		panic(fmt.Sprintf("frame: a Decoder wants %d bytes and has %d", n, len(b)))
	}
	return n
}
