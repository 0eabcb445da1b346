package frame

import "encoding/binary"

// Uvarint is the width of a length field of 1 to 10 bytes, seven bits in each,
// the lowest first, as in Protocol Buffers (see encoding/binary). One that is
// padded with zeros is accepted.
const Uvarint = -1

// check panics if the fields make no sense, else it returns the limit.
func (c *Length) check() (limit int) {
	limit = limitOf(c.Max)
	switch {
	case c.Width > 8 || c.Width < Uvarint:
		panic("frame: Width is not 1 to 8 nor Uvarint")
	case c.Offset < 0 || c.Offset > limit-c.least():
		panic("frame: Offset is negative, or Max leaves no room for the header")
	}
	return limit
}

// least is the size of the smallest field.
func (c *Length) least() int {
	switch c.Width {
	case 0:
		return 4
	case Uvarint:
		return 1
	}
	return c.Width
}

// field reads the length field, which ends at end. With ErrIncomplete end is
// the least that is needed to say more, with another error 0.
func (c *Length) field(b []byte, limit int) (value uint64, end int, err error) {
	end = c.Offset + c.least()
	switch {
	case len(b) < end:
		return 0, end, ErrIncomplete
	case c.Width == Uvarint:
		return c.uvarint(b[:min(len(b), limit)], limit)
	}
	return number(b[c.Offset:end], c.LittleEndian), end, nil
}

func (c *Length) uvarint(b []byte, limit int) (value uint64, end int, err error) {
	value, size := binary.Uvarint(b[c.Offset:])
	switch {
	case size > 0:
		return value, c.Offset + size, nil
	case size < 0 || len(b)-c.Offset >= binary.MaxVarintLen64:
		return 0, 0, errUvarint
	case len(b) == limit:
		return 0, 0, endless(limit)
	}
	return 0, len(b) + 1, ErrIncomplete
}

// number reads 1 to 8 bytes.
func number(b []byte, little bool) (v uint64) {
	switch {
	case len(b) == 4 && little:
		return uint64(binary.LittleEndian.Uint32(b))
	case len(b) == 4:
		return uint64(binary.BigEndian.Uint32(b))
	case little:
		for i := len(b) - 1; i >= 0; i-- {
			v = v<<8 | uint64(b[i])
		}
	default:
		for _, c := range b {
			v = v<<8 | uint64(c)
		}
	}
	return v
}

// size is that of the field which says value.
func (c *Length) size(value uint64) int {
	n := c.least()
	if c.Width == Uvarint {
		for ; value >= 1<<7; value >>= 7 {
			n++
		}
	}
	return n
}

// greatest is the greatest value the field can say.
func (c *Length) greatest() uint64 {
	if c.Width == Uvarint {
		return 1<<64 - 1
	}
	return (1<<64 - 1) >> (64 - 8*c.least())
}

func (c *Length) putField(dst []byte, value uint64) []byte {
	if c.Width == Uvarint {
		return binary.AppendUvarint(dst, value)
	}
	n := c.least()
	switch {
	case n == 4 && c.LittleEndian:
		return binary.LittleEndian.AppendUint32(dst, uint32(value))
	case n == 4:
		return binary.BigEndian.AppendUint32(dst, uint32(value))
	}
	for i := range n {
		shift := 8 * i
		if !c.LittleEndian {
			shift = 8 * (n - 1 - i)
		}
		dst = append(dst, byte(value>>shift))
	}
	return dst
}
