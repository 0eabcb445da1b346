package frame

import "math/bits"

// Length is frames that say how long they are: a header with a length field,
// then that many bytes. The zero value is a big-endian field of four bytes
// that counts the bytes behind it, and frames without the header.
//
//	┌─ Offset ─┬─ Width ─┬─ the field's value + Adjust ─┐
//	│  header  │ length  │                              │
//	└──────────┴─────────┴──────────────────────────────┘
//	├─ Strip ─┤├──────────── what Decode gives ─────────┤
//
// It is the framing of Netty's LengthFieldBasedFrameDecoder and Tokio's
// LengthDelimitedCodec. It has no state: one may serve many streams, from any
// goroutines. Methods panic if the fields make no sense.
type Length struct {
	// Offset is the number of bytes before the length field.
	Offset int

	// Width is the size of the field in bytes, 1 to 8, or Uvarint. 0: 4.
	Width int

	// LittleEndian is the order of the field's bytes; false: big-endian.
	LittleEndian bool

	// Adjust is added to the field's value. The sum is the number of bytes behind the field. It is
	// negative if the field counts itself or bytes before it. It is positive if more header follows
	// that the field does not count.
	Adjust int

	// Strip is the number of bytes that Decode drops from the front.
	// 0: all up to and with the length field. Negative: none.
	Strip int

	// Max is the longest frame, header included, in bytes. 0: DefaultMax.
	Max int
}

// Decode implements Decoder. It takes constant time. A frame longer than Max
// and a bad length are errors as soon as the length field is there.
func (c *Length) Decode(b []byte) (frame []byte, n int, err error) {
	limit := c.check()
	value, end, err := c.field(b, limit)
	if err != nil {
		return nil, end, err
	}
	total, ok := c.total(value, end)
	strip := c.strip(end)
	switch {
	case !ok:
		return nil, 0, errNegative
	case total > uint64(limit):
		return nil, 0, &TooLongError{Length: total, Max: limit}
	case uint64(strip) > total:
		return nil, 0, errStrip
	case uint64(len(b)) < total:
		return nil, int(total), ErrIncomplete
	}
	n = int(total)
	return b[strip:n:n], n, nil
}

// total is the length of a frame whose length field says value and ends at end,
// or the greatest uint64 if it is beyond. It is false if the field and the
// adjustment leave less than nothing behind the field.
func (c *Length) total(value uint64, end int) (uint64, bool) {
	var over uint64
	if c.Adjust < 0 {
		less := uint64(-int64(c.Adjust)) // right for the least int, too
		if value < less {
			return 0, false
		}
		value -= less
	} else if value, over = bits.Add64(value, uint64(c.Adjust), 0); over != 0 {
		return 1<<64 - 1, true
	}
	if value, over = bits.Add64(value, uint64(end), 0); over != 0 {
		return 1<<64 - 1, true
	}
	return value, true
}

func (c *Length) strip(end int) int {
	switch {
	case c.Strip < 0:
		return 0
	case c.Strip == 0:
		return end
	}
	return c.Strip
}

// Append implements Encoder: payload follows the length field, and the
// Offset bytes before the field are zeros. Unless Strip says otherwise, Decode
// gives payload again.
func (c *Length) Append(dst, payload []byte) ([]byte, error) {
	return c.appendFrame(dst, nil, payload)
}

// AppendHeader is Append with the Offset bytes that come before the length
// field. It panics if header is not that long.
func (c *Length) AppendHeader(dst, header, payload []byte) ([]byte, error) {
	if len(header) != c.Offset {
		panic("frame: the header is not as long as Offset says")
	}
	return c.appendFrame(dst, header, payload)
}

func (c *Length) appendFrame(dst, header, payload []byte) ([]byte, error) {
	limit := c.check()
	value, ok := c.value(len(payload))
	if !ok {
		return dst, errAdjust
	}
	end := c.Offset + c.size(value)
	total := uint64(end) + uint64(len(payload))
	switch {
	case total > uint64(limit):
		return dst, &TooLongError{Length: total, Max: limit}
	case value > c.greatest():
		return dst, &TooLongError{Length: total, Max: int(total - (value - c.greatest()))}
	case uint64(c.strip(end)) > total:
		return dst, errStrip
	}
	if header == nil {
		for range c.Offset {
			dst = append(dst, 0)
		}
	}
	dst = append(dst, header...)
	dst = c.putField(dst, value)
	return append(dst, payload...), nil
}

// value is what the length field says of n bytes behind it, unless that would
// be negative.
func (c *Length) value(n int) (uint64, bool) {
	if c.Adjust < 0 {
		return uint64(n) + uint64(-int64(c.Adjust)), true
	}
	return uint64(n) - uint64(c.Adjust), n >= c.Adjust
}
