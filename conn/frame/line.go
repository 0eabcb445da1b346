package frame

import "bytes"

// A LineEnd says how a line ends.
type LineEnd uint8

const (
	// AnyEnd is LF, with or without a CR before it. Neither is part of the
	// frame. A CR elsewhere is. Lines are written with LF.
	AnyEnd LineEnd = iota

	// LF is LF alone: a CR before it is part of the frame.
	LF

	// CRLF is CR LF. A CR or LF alone is ErrLineEnd: where one party takes it
	// for the end of a line and another does not, requests can be smuggled.
	CRLF
)

// Line is frames that are lines of text, without their ends. The zero value
// takes LF and CRLF. It belongs to one stream: copy a configured one that has
// not been used for each.
type Line struct {
	// End says how a line ends.
	End LineEnd

	// Max is the longest line in bytes, its end included. 0: DefaultMax.
	Max int

	// Unterminated makes the end of the stream end the last line, too, if that
	// is not empty; else a stream must not end within a line.
	Unterminated bool

	seen int // nothing in the first so many bytes needs to be looked at again
}

// Decode implements Decoder. No byte is searched twice, however the stream is cut
// into pieces.
func (l *Line) Decode(b []byte) (frame []byte, n int, err error) {
	limit := limitOf(l.Max)
	window := b[:min(len(b), limit)]
	if l.seen > len(window) {
		l.seen = 0
	}
	to, n, err := l.find(window)
	switch {
	case err == nil:
		l.seen = 0
		return b[:to:to], n, nil
	case n > limit: // the bytes before the last one said so already
		return nil, 0, endless(limit)
	case err != ErrIncomplete:
		return nil, 0, err
	}
	l.seen = to
	return nil, n, ErrIncomplete
}

// find looks for the end of the line behind the bytes seen so far. The frame ends
// at to, the line at n. With an error, the bytes before to need no second look,
// and n is the least length the line could have had.
func (l *Line) find(b []byte) (to, n int, err error) {
	rest := b[l.seen:]
	i := bytes.IndexByte(rest, '\n')
	if l.End == CRLF {
		return l.findCRLF(b, i)
	}
	if i < 0 {
		return len(b), len(b) + 1, ErrIncomplete
	}
	i += l.seen
	if l.End == AnyEnd && i > 0 && b[i-1] == '\r' {
		return i - 1, i + 1, nil
	}
	return i, i + 1, nil
}

// findCRLF judges the first CR or LF. lf is the place of the first LF behind the
// bytes seen so far.
func (l *Line) findCRLF(b []byte, lf int) (to, n int, err error) {
	rest := b[l.seen:]
	if lf >= 0 {
		rest = rest[:lf+1]
	}
	cr := bytes.IndexByte(rest, '\r')
	switch {
	case cr < 0 && lf < 0:
		return len(b), len(b) + 2, ErrIncomplete
	case cr >= 0 && cr == len(rest)-1: // nothing behind it yet
		return l.seen + cr, len(b) + 1, ErrIncomplete
	case cr < 0:
		return 0, l.seen + lf + 2, ErrLineEnd
	case cr != lf-1:
		return 0, l.seen + cr + 2, ErrLineEnd
	}
	return l.seen + cr, l.seen + lf + 1, nil
}

// DecodeEOF implements EOFDecoder.
func (l *Line) DecodeEOF(b []byte) (frame []byte, n int, err error) {
	frame = b
	if ends := len(b) > 0 && b[len(b)-1] == '\r'; ends && l.End == AnyEnd {
		frame = b[:len(b)-1]
	} else if ends && l.End == CRLF {
		return nil, 0, truncated(len(b), len(b)+1)
	}
	if !l.Unterminated || len(b) == 0 {
		return nil, 0, truncated(len(b), len(b)+1)
	}
	l.seen = 0
	return frame[:len(frame):len(frame)], len(b), nil
}

// Reset forgets the bytes seen so far: the next Decode is of another stream, or
// of one whose bytes were read past the decoder.
func (l *Line) Reset() { l.seen = 0 }

// Append implements Encoder. A payload that would not come back as it is, one
// with an end of a line in it, is ErrPayload.
func (l *Line) Append(dst, payload []byte) ([]byte, error) {
	limit, end := limitOf(l.Max), "\n"
	holds := bytes.IndexByte(payload, '\n') >= 0
	switch l.End {
	case AnyEnd:
		holds = holds || bytes.HasSuffix(payload, []byte{'\r'})
	case CRLF:
		holds = holds || bytes.IndexByte(payload, '\r') >= 0
		end = "\r\n"
	}
	if total := uint64(len(payload)) + uint64(len(end)); total > uint64(limit) {
		return dst, &TooLongError{Length: total, Max: limit}
	}
	if holds {
		return dst, ErrPayload
	}
	return append(append(dst, payload...), end...), nil
}
