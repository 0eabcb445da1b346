package frame_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn/frame"
)

func lengthOf(c frame.Length) func() frame.Decoder {
	return func() frame.Decoder { return &c }
}

// The seven layouts that the documentation of Netty's decoder goes through.
func TestLengthDecodesTheLayoutsThatNettyDocuments(t *testing.T) {
	const hello = "HELLO, WORLD"
	for _, c := range []struct {
		name        string
		codec       frame.Length
		wire, frame string
	}{
		{"2 bytes, header kept", frame.Length{Width: 2, Strip: -1}, "\x00\x0c" + hello, "\x00\x0c" + hello},
		{"2 bytes, header stripped", frame.Length{Width: 2}, "\x00\x0c" + hello, hello},
		{"length of the whole", frame.Length{Width: 2, Adjust: -2, Strip: -1}, "\x00\x0e" + hello, "\x00\x0e" + hello},
		{"header before", frame.Length{Offset: 2, Width: 3, Strip: -1}, "\xca\xfe\x00\x00\x0c" + hello, "\xca\xfe\x00\x00\x0c" + hello},
		{"header behind", frame.Length{Width: 3, Adjust: 2, Strip: -1}, "\x00\x00\x0c\xca\xfe" + hello, "\x00\x00\x0c\xca\xfe" + hello},
		{"header around", frame.Length{Offset: 1, Width: 2, Adjust: 1, Strip: 3}, "\xca\x00\x0c\xfe" + hello, "\xfe" + hello},
		{"header around, length of the whole", frame.Length{Offset: 1, Width: 2, Adjust: -3, Strip: 3}, "\xca\x00\x10\xfe" + hello, "\xfe" + hello},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := feedEveryWay(t, lengthOf(c.codec), c.wire+c.wire+c.wire[:3])
			require.Equal(t, record{Frames: []string{c.frame, c.frame}, Left: 3}, got)
		})
	}
}

func TestLengthFieldsOfEveryWidthAndOrder(t *testing.T) {
	for _, c := range []struct {
		name  string
		codec frame.Length
		wire  string
	}{
		{"1", frame.Length{Width: 1}, "\x03abc"},
		{"2 big", frame.Length{Width: 2}, "\x00\x03abc"},
		{"2 little", frame.Length{Width: 2, LittleEndian: true}, "\x03\x00abc"},
		{"3 big", frame.Length{Width: 3}, "\x00\x00\x03abc"},
		{"3 little", frame.Length{Width: 3, LittleEndian: true}, "\x03\x00\x00abc"},
		{"4 big", frame.Length{}, "\x00\x00\x00\x03abc"},
		{"4 little", frame.Length{LittleEndian: true}, "\x03\x00\x00\x00abc"},
		{"5 little", frame.Length{Width: 5, LittleEndian: true}, "\x03\x00\x00\x00\x00abc"},
		{"8 big", frame.Length{Width: 8}, "\x00\x00\x00\x00\x00\x00\x00\x03abc"},
		{"8 little", frame.Length{Width: 8, LittleEndian: true}, "\x03\x00\x00\x00\x00\x00\x00\x00abc"},
		{"uvarint", frame.Length{Width: frame.Uvarint}, "\x03abc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			wire, err := c.codec.Append([]byte("before"), []byte("abc"))
			require.NoError(t, err)
			require.Equal(t, "before"+c.wire, string(wire))
			got := feedEveryWay(t, lengthOf(c.codec), c.wire+c.wire)
			require.Equal(t, record{Frames: []string{"abc", "abc"}}, got)
		})
	}
}

func TestEveryByteOfALengthFieldCounts(t *testing.T) {
	for _, little := range []bool{false, true} {
		for width := 1; width <= 8; width++ {
			c := frame.Length{Width: width, LittleEndian: little, Max: math.MaxInt32}
			var value uint64
			field := make([]byte, width)
			for i := range width { // 1, 2, 3 … from the most significant byte
				at := i
				if little {
					at = width - 1 - i
				}
				field[at] = byte(i + 1)
				value = value<<8 | uint64(i+1)
			}
			_, n, err := c.Decode(field)
			if total := value + uint64(width); total > math.MaxInt32 {
				require.Equal(t, &frame.TooLongError{Length: total, Max: math.MaxInt32}, err)
			} else {
				require.Equal(t, frame.ErrIncomplete, err)
				require.EqualValues(t, total, n)
			}
		}
	}
}

func TestALengthFrameOfMaxBytesPassesAndOneOfOneMoreDoesNot(t *testing.T) {
	for name, c := range map[string]frame.Length{
		"2 bytes":        {Width: 2, Max: 10},
		"counts itself":  {Width: 2, Adjust: -2, Max: 10},
		"header kept":    {Width: 2, Strip: -1, Max: 10},
		"uvarint":        {Width: frame.Uvarint, Offset: 1, Max: 10},
		"the field says": {Width: 1, Adjust: 5 - 255, Max: 1000}, // at most 5 behind it
	} {
		t.Run(name, func(t *testing.T) {
			longest := 8
			if c.Max == 1000 {
				longest = 5
			}
			wire, err := c.Append(nil, make([]byte, longest))
			require.NoError(t, err)
			_, n, err := c.Decode(wire)
			require.NoError(t, err)
			require.Equal(t, len(wire), n)

			dst, err := c.Append([]byte("x"), make([]byte, longest+1))
			require.Equal(t, "x", string(dst))
			require.ErrorIs(t, err, frame.ErrTooLong)
			require.Equal(t, &frame.TooLongError{Length: uint64(len(wire)) + 1, Max: len(wire)}, err)
			if c.Max == 1000 {
				return // what the field cannot say cannot arrive
			}
			c.Max++
			wire, err = c.Append(nil, make([]byte, longest+1))
			require.NoError(t, err)
			c.Max--
			_, n, err = c.Decode(wire[:len(wire)-longest-1]) // the field is enough
			require.Equal(t, &frame.TooLongError{Length: 11, Max: 10}, err)
			require.Zero(t, n)
		})
	}
}

func TestLengthsThatOverflowAreErrors(t *testing.T) {
	ones := strings.Repeat("\xff", 8)
	uvarint := strings.Repeat("\xff", 9) + "\x01" // 1<<64 - 1
	for _, c := range []struct {
		name  string
		codec frame.Length
		wire  string
		want  error
	}{
		{"8 bytes of ones", frame.Length{Width: 8}, ones,
			&frame.TooLongError{Length: math.MaxUint64, Max: frame.DefaultMax}},
		{"8 bytes of ones, counting themselves", frame.Length{Width: 8, Adjust: -8}, ones,
			&frame.TooLongError{Length: math.MaxUint64, Max: frame.DefaultMax}},
		{"8 bytes of ones and more", frame.Length{Width: 8, Adjust: math.MaxInt}, ones,
			&frame.TooLongError{Length: math.MaxUint64, Max: frame.DefaultMax}},
		{"ones less the greatest adjustment", frame.Length{Width: 8, Adjust: math.MinInt}, ones,
			&frame.TooLongError{Length: math.MaxUint64 - math.MaxInt + 7, Max: frame.DefaultMax}},
		{"just below 64 bits", frame.Length{Width: 8}, "\xff\xff\xff\xff\xff\xff\xff\xf0",
			&frame.TooLongError{Length: math.MaxUint64 - 7, Max: frame.DefaultMax}},
		{"a sign bit", frame.Length{Width: 8, Max: math.MaxInt}, "\x80\x00\x00\x00\x00\x00\x00\x00",
			&frame.TooLongError{Length: 1<<63 + 8, Max: math.MaxInt}},
		{"4 bytes of ones", frame.Length{}, ones[:4],
			&frame.TooLongError{Length: 1<<32 + 3, Max: frame.DefaultMax}},
		{"uvarint", frame.Length{Width: frame.Uvarint}, uvarint,
			&frame.TooLongError{Length: math.MaxUint64, Max: frame.DefaultMax}},
		{"less than the adjustment", frame.Length{Width: 2, Adjust: -2}, "\x00\x01", frame.ErrLength},
		{"much less than the adjustment", frame.Length{Width: 2, Adjust: math.MinInt}, "\xff\xff", frame.ErrLength},
		{"a header that is to be stripped and not there", frame.Length{Width: 2, Strip: 4}, "\x00\x01", frame.ErrLength},
		{"uvarint of 65 bits", frame.Length{Width: frame.Uvarint}, strings.Repeat("\xff", 9) + "\x02", frame.ErrLength},
		{"uvarint without end", frame.Length{Width: frame.Uvarint}, strings.Repeat("\x80", 10), frame.ErrLength},
		{"uvarint longer than a frame", frame.Length{Width: frame.Uvarint, Max: 4}, strings.Repeat("\x80", 4),
			&frame.TooLongError{Length: 5, Max: 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := feedEveryWay(t, lengthOf(c.codec), c.wire+"more")
			require.Empty(t, got.Frames)
			_, _, err := c.codec.Decode([]byte(c.wire))
			require.Equal(t, err.Error(), got.Err)
			if long, ok := c.want.(*frame.TooLongError); ok {
				require.Equal(t, long, err)
				require.ErrorIs(t, err, frame.ErrTooLong)
				return
			}
			require.ErrorIs(t, err, c.want)
		})
	}
}

func TestALengthOfExactlyTheAdjustmentIsAnEmptyFrame(t *testing.T) {
	got := feedEveryWay(t, lengthOf(frame.Length{Width: 2, Adjust: -2}), "\x00\x02\x00\x03a")
	require.Equal(t, record{Frames: []string{"", "a"}}, got)
	got = feedEveryWay(t, lengthOf(frame.Length{Width: 1, Strip: 3}), "\x02ab\x03abc")
	require.Equal(t, record{Frames: []string{"", "c"}}, got)
}

func TestAPaddedUvarintIsRead(t *testing.T) {
	got := feedEveryWay(t, lengthOf(frame.Length{Width: frame.Uvarint}), "\x83\x80\x00abc")
	require.Equal(t, record{Frames: []string{"abc"}}, got)
}

func TestLengthSaysHowMuchItWants(t *testing.T) {
	c := frame.Length{Offset: 1, Width: 2}
	for _, step := range []struct {
		have string
		want int
	}{{"", 3}, {"x", 3}, {"x\x00", 3}, {"x\x00\x64", 103}, {"x\x00\x64abc", 103}} {
		_, n, err := c.Decode([]byte(step.have))
		require.Equal(t, frame.ErrIncomplete, err)
		require.Equal(t, step.want, n, "%q", step.have)
	}
}

func TestAHeaderIsWrittenBeforeTheLengthField(t *testing.T) {
	c := frame.Length{Offset: 2, Width: 2, Adjust: 1, Strip: -1}
	wire, err := c.AppendHeader(nil, []byte("GO"), []byte("!abc"))
	require.NoError(t, err)
	require.Equal(t, "GO\x00\x03!abc", string(wire))
	require.Equal(t, record{Frames: []string{string(wire)}}, feedEveryWay(t, lengthOf(c), string(wire)))
	wire, err = c.Append(nil, []byte("!"))
	require.NoError(t, err)
	require.Equal(t, "\x00\x00\x00\x00!", string(wire))
}

func TestLengthRefusesAPayloadItCouldNotRead(t *testing.T) {
	for _, c := range []struct {
		name  string
		codec frame.Length
		size  int
	}{
		{"shorter than the adjustment", frame.Length{Adjust: 3}, 2},
		{"shorter than what is stripped", frame.Length{Width: 1, Strip: 3}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			dst, err := c.codec.Append([]byte("x"), make([]byte, c.size))
			require.ErrorIs(t, err, frame.ErrLength)
			require.Equal(t, "x", string(dst))
			_, err = c.codec.Append(nil, make([]byte, c.size+1))
			require.NoError(t, err)
		})
	}
}

func TestALengthThatMakesNoSensePanics(t *testing.T) {
	for _, c := range []frame.Length{
		{Width: 9}, {Width: -2}, {Offset: -1}, {Max: -1}, {Max: 3}, {Offset: math.MaxInt}, {Max: 10, Offset: 7},
	} {
		require.Panics(t, func() { _, _, _ = c.Decode(nil) }, "%+v", c)
		require.Panics(t, func() { _, _ = c.Append(nil, nil) }, "%+v", c)
	}
	c := frame.Length{Offset: 2}
	require.Panics(t, func() { _, _ = c.AppendHeader(nil, []byte("x"), nil) })
}
