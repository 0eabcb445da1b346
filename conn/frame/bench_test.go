package frame_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn/frame"
)

var codecs = map[string]frame.Codec{
	"Length":    &frame.Length{},
	"Uvarint":   &frame.Length{Width: frame.Uvarint},
	"Line":      &frame.Line{},
	"LineCRLF":  &frame.Line{End: frame.CRLF},
	"Delimiter": &frame.Delimiter{Delim: []byte("\r\n\r\n")},
}

// sixteen frames of 100 bytes.
func sixteen(t testing.TB, c frame.Codec) (wire []byte) {
	for range 16 {
		var err error
		wire, err = c.Append(wire, bytes.Repeat([]byte("x"), 100))
		require.NoError(t, err)
	}
	return wire
}

func TestDecodingAndEncodingAllocateNothing(t *testing.T) {
	for name, c := range codecs {
		wire := sixteen(t, c)
		src := &short{}
		frames := 0
		require.Zero(t, testing.AllocsPerRun(100, func() {
			src.buf, frames = wire[:len(wire)-1], 0
			for _, err := range frame.All(src, c) {
				if err != nil {
					panic(err)
				}
				frames++
			}
		}), name)
		require.Equal(t, 15, frames)
		payload, dst := make([]byte, 100), make([]byte, 0, 200)
		require.Zero(t, testing.AllocsPerRun(100, func() {
			if _, err := c.Append(dst, payload); err != nil {
				panic(err)
			}
		}), name)
		if r, ok := c.(interface{ Reset() }); ok {
			r.Reset()
		}
	}
}

func BenchmarkAll(b *testing.B) {
	for name, c := range codecs {
		b.Run(name, func(b *testing.B) {
			wire := sixteen(b, c)
			src := &short{}
			b.SetBytes(int64(len(wire)))
			b.ReportAllocs()
			for b.Loop() {
				src.buf = wire
				for _, err := range frame.All(src, c) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	for name, c := range codecs {
		b.Run(name, func(b *testing.B) {
			payload, dst := make([]byte, 100), make([]byte, 0, 200)
			b.SetBytes(100)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Append(dst, payload); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// One frame of 64 KiB that arrives by single bytes.
func BenchmarkByteAtATime(b *testing.B) {
	for name, c := range codecs {
		b.Run(name, func(b *testing.B) {
			wire, err := c.Append(nil, bytes.Repeat([]byte("x"), 64<<10))
			require.NoError(b, err)
			b.SetBytes(int64(len(wire)))
			b.ReportAllocs()
			for b.Loop() {
				for n := range wire {
					if _, _, err := c.Decode(wire[:n]); err != frame.ErrIncomplete {
						b.Fatal(err)
					}
				}
				if _, _, err := c.Decode(wire); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
