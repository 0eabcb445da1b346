package frame_test

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn/frame"
)

// fuzzWays feeds a stream whole, by bytes and in random pieces: with one result.
func fuzzWays(t *testing.T, fresh func() frame.Decoder, in []byte, seed uint64) record {
	whole := feed(t, fresh(), [][]byte{in})
	for _, pieces := range [][][]byte{
		cutAt(in, func(int) bool { return true }),
		cutAtRandom(in, seed),
	} {
		got := feed(t, fresh(), pieces)
		if whole.Err != "" {
			got.Left = whole.Left
		}
		require.Equal(t, whole, got)
	}
	return whole
}

// fuzzIdentity appends payload twice and decodes both.
func fuzzIdentity(t *testing.T, e frame.Encoder, fresh func() frame.Decoder, payload []byte, want func(wire []byte) []byte) {
	wire, err := e.Append(nil, payload)
	if err != nil {
		require.Empty(t, wire)
		return
	}
	size := len(wire)
	f := string(want(wire))
	wire, err = e.Append(wire, payload)
	require.NoError(t, err)
	require.Len(t, wire, 2*size)
	require.Equal(t, record{Frames: []string{f, f}}, feed(t, fresh(), [][]byte{wire}))
}

func FuzzLength(f *testing.F) {
	f.Add([]byte("\x00\x03abc\x00\x00\x00"), uint8(2), false, uint8(0), 0, 0, uint16(0), uint64(1))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff"), uint8(8), true, uint8(0), -8, 0, uint16(100), uint64(2))
	f.Add([]byte("\x83\x80\x00abc\x01."), uint8(9), false, uint8(0), 0, -1, uint16(9), uint64(3))
	f.Add([]byte("\xca\x00\x10\xfeHELLO, WORLD"), uint8(2), false, uint8(1), -3, 3, uint16(16), uint64(4))
	f.Add([]byte("\x00\x00\x00\x00"), uint8(4), false, uint8(0), math.MinInt, 0, uint16(16), uint64(5))
	f.Fuzz(func(t *testing.T, in []byte, width uint8, little bool, offset uint8, adjust, strip int, limit uint16, seed uint64) {
		if len(in) > 1<<10 {
			t.Skip("feed copies what is left for every piece")
		}
		c := frame.Length{
			Width: int(width % 10), LittleEndian: little, Offset: int(offset % 8),
			Adjust: adjust, Strip: strip, Max: 16 + int(limit),
		}
		if c.Width == 9 {
			c.Width = frame.Uvarint
		}
		fuzzWays(t, lengthOf(c), in, seed)
		fuzzIdentity(t, &c, lengthOf(c), in, func(wire []byte) []byte {
			switch {
			case c.Strip < 0:
				return wire
			case c.Strip == 0:
				return in
			}
			return wire[c.Strip:]
		})
	})
}

// bySplit is what a stream of delimited frames holds, found without any state.
func bySplit(in, delim []byte, limit int, trim func([]byte) []byte) (frames []string, long bool, left int) {
	for {
		i := bytes.Index(in, delim)
		if i >= 0 && i+len(delim) <= limit {
			frames = append(frames, string(trim(in[:i])))
			in = in[i+len(delim):]
			continue
		}
		return frames, i >= 0 || len(in) >= limit, len(in)
	}
}

func FuzzDelimiter(f *testing.F) {
	f.Add([]byte("ab\r\n\r\nc\r\n\r\r\n\r\nd"), []byte("\r\n\r\n"), uint8(0), uint64(1))
	f.Add([]byte("abaabababab"), []byte("abab"), uint8(4), uint64(2))
	f.Add([]byte("-----"), []byte("--"), uint8(0), uint64(3))
	f.Fuzz(func(t *testing.T, in, delim []byte, limit uint8, seed uint64) {
		if len(in) > 1<<10 || len(delim) == 0 || len(delim) > 100 {
			t.Skip("feed copies what is left for every piece")
		}
		d := frame.Delimiter{Delim: delim, Max: len(delim) + int(limit)}
		got := fuzzWays(t, delimiterOf(d), in, seed)
		frames, long, left := bySplit(in, delim, d.Max, func(b []byte) []byte { return b })
		require.Equal(t, frames, got.Frames)
		require.Equal(t, left, got.Left)
		if long {
			require.NotEmpty(t, got.Err)
		} else if got.Err != "" { // sooner: no delimiter can end within Max
			tail := in[len(in)-left:]
			for n := range delim {
				require.False(t, bytes.HasSuffix(tail, delim[:n]) && left-n+len(delim) <= d.Max)
			}
		}
		fuzzIdentity(t, &d, delimiterOf(d), in, func([]byte) []byte { return in })
		if _, err := d.Append(nil, in); errors.Is(err, frame.ErrPayload) {
			whole := append(bytes.Clone(in), delim...)
			require.Less(t, bytes.Index(whole, delim), len(in))
		}
	})
}

func FuzzLine(f *testing.F) {
	f.Add([]byte("a\r\nb\n\nc\rd\r\r\ne"), uint8(0), uint8(0), uint64(1))
	f.Add([]byte("a\r\nb\n"), uint8(2), uint8(3), uint64(2))
	f.Add([]byte("a\r\nb\r\rc"), uint8(2), uint8(0), uint64(3))
	f.Fuzz(func(t *testing.T, in []byte, end, limit uint8, seed uint64) {
		if len(in) > 1<<10 {
			t.Skip("feed copies what is left for every piece")
		}
		l := frame.Line{End: frame.LineEnd(end % 3), Max: 1 + int(limit)}
		got := fuzzWays(t, lineOf(l), in, seed)
		fuzzIdentity(t, &l, lineOf(l), in, func([]byte) []byte { return in })
		if l.End == frame.CRLF {
			for _, f := range got.Frames {
				require.False(t, bytes.ContainsAny([]byte(f), "\r\n"))
			}
			if got.Err == "" {
				frames, _, left := bySplit(in, []byte("\r\n"), l.Max, func(b []byte) []byte { return b })
				require.Equal(t, frames, got.Frames)
				require.Equal(t, left, got.Left)
			}
			return
		}
		frames, long, left := bySplit(in, []byte("\n"), l.Max, func(b []byte) []byte {
			if l.End == frame.AnyEnd {
				return bytes.TrimSuffix(b, []byte("\r"))
			}
			return b
		})
		require.Equal(t, frames, got.Frames)
		require.Equal(t, left, got.Left)
		require.Equal(t, long, got.Err != "")
	})
}
