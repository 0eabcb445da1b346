package frame

import (
	"errors"
	"fmt"
	"io"
)

var (
	// ErrIncomplete is no failure: the frame at the front is not all there.
	ErrIncomplete = errors.New("frame: incomplete: more bytes are needed")

	// ErrTooLong matches every TooLongError.
	ErrTooLong = errors.New("frame: too long")

	// ErrLength is a length field that cannot be true: shorter than what it
	// counts by definition, or no number at all; and a payload for which
	// the field would have to be so.
	ErrLength = errors.New("frame: bad length")

	// ErrLineEnd is a CR or a LF that is not part of a CRLF, where lines must
	// end in CRLF.
	ErrLineEnd = errors.New("frame: CR or LF alone where lines end in CRLF")

	// ErrPayload is a payload that contains the end of a frame.
	ErrPayload = errors.New("frame: the payload contains the end of a frame")
)

var (
	errNegative = fmt.Errorf("%w: less than the header it counts", ErrLength)
	errStrip    = fmt.Errorf("%w: the frame is shorter than the bytes to strip", ErrLength)
	errUvarint  = fmt.Errorf("%w: a uvarint of more than 64 bits", ErrLength)
	errAdjust   = fmt.Errorf("%w: the payload is shorter than the adjustment", ErrLength)
)

// A TooLongError is a frame longer than the codec's limit, or than its length
// field can say. It matches ErrTooLong.
type TooLongError struct {
	// Length is the length of the whole frame on the wire, in bytes. If the end of the frame is not
	// known, it is the least possible length. Beyond 64 bits it is the greatest uint64.
	Length uint64

	// Max is the limit, for the whole frame as well.
	Max int
}

func (e *TooLongError) Error() string {
	return fmt.Sprintf("frame: too long: %d bytes or more, and %d is the limit", e.Length, e.Max)
}

// Is makes it match ErrTooLong.
func (e *TooLongError) Is(target error) bool { return target == ErrTooLong }

func endless(limit int) error { return &TooLongError{Length: uint64(limit) + 1, Max: limit} }

func truncated(have, want int) error {
	return fmt.Errorf("frame: the stream ends after %d bytes of a frame of %d or more: %w", have, want, io.ErrUnexpectedEOF)
}
