package frame

import "bytes"

// Delimiter is frames that each end with the same bytes, which are not part of
// them. It belongs to one stream: copy a configured one that has not been used
// for each.
type Delimiter struct {
	// Delim ends a frame: one byte or more, not changed meanwhile.
	// It is meant to be short: each Decode that finds no frame compares its
	// beginnings with the end of the bytes.
	Delim []byte

	// Max is the longest frame in bytes, its delimiter included.
	// 0: DefaultMax.
	Max int

	// Unterminated makes the end of the stream end the last frame, too, if that
	// is not empty; else a stream must not end within a frame.
	Unterminated bool

	seen int // no delimiter begins in the first so many bytes
}

// Decode implements Decoder. It searches new bytes, and the last old ones if a
// delimiter may begin there.
func (d *Delimiter) Decode(b []byte) (frame []byte, n int, err error) {
	limit := d.check()
	window := b[:min(len(b), limit)]
	if d.seen > len(window) {
		d.seen = 0
	}
	rest := window[d.seen:]
	if i := bytes.Index(rest, d.Delim); i >= 0 {
		i += d.seen
		d.seen = 0
		return b[:i:i], i + len(d.Delim), nil
	}
	begun := overlap(rest, d.Delim)
	// A delimiter that is not there begins here or later.
	if n = len(window) - begun + len(d.Delim); n > limit {
		return nil, 0, endless(limit)
	}
	d.seen = len(window) - begun
	return nil, n, ErrIncomplete
}

func (d *Delimiter) check() (limit int) {
	limit = limitOf(d.Max)
	if len(d.Delim) == 0 || len(d.Delim) > limit {
		panic("frame: Delim is empty, or longer than Max")
	}
	return limit
}

// overlap is the length of the longest end of b that is a beginning, and not
// all, of delim.
func overlap(b, delim []byte) int {
	for n := min(len(b), len(delim)-1); n > 0; n-- {
		if bytes.HasSuffix(b, delim[:n]) {
			return n
		}
	}
	return 0
}

// DecodeEOF implements EOFDecoder.
func (d *Delimiter) DecodeEOF(b []byte) (frame []byte, n int, err error) {
	if !d.Unterminated || len(b) == 0 {
		return nil, 0, truncated(len(b), len(b)+1)
	}
	d.seen = 0
	return b[:len(b):len(b)], len(b), nil
}

// Reset forgets the bytes seen so far: the next Decode is of another stream, or
// of one whose bytes were read past the decoder.
func (d *Delimiter) Reset() { d.seen = 0 }

// Append implements Encoder. A payload that would not come back as it is, one
// with a delimiter in it or with an end that makes one begin early, is
// ErrPayload.
func (d *Delimiter) Append(dst, payload []byte) ([]byte, error) {
	limit := d.check()
	if total := uint64(len(payload)) + uint64(len(d.Delim)); total > uint64(limit) {
		return dst, &TooLongError{Length: total, Max: limit}
	}
	long := append(append(dst, payload...), d.Delim...)
	if bytes.Index(long[len(dst):], d.Delim) != len(payload) {
		return dst, ErrPayload
	}
	return long, nil
}
