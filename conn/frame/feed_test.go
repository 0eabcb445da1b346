package frame_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn/frame"
)

// A record is all that a decoder made of a stream.
type record struct {
	Frames []string
	Err    string // "" while it is undecided
	Left   int    // bytes not consumed
}

// feed gives a stream to d in pieces. It checks the promises of every decoder: frames lie within
// the given bytes, and none is shorter than announced.
func feed(t testing.TB, d frame.Decoder, pieces [][]byte) (r record) {
	t.Helper()
	var pending []byte
	want := 0
	for _, p := range pieces {
		pending = append(pending, p...)
		for {
			b := bytes.Clone(pending)
			b = b[:len(b):len(b)]
			f, n, err := d.Decode(b)
			if errors.Is(err, frame.ErrIncomplete) {
				require.Greater(t, n, len(b), "it has what it wants")
				require.GreaterOrEqual(t, n, want, "it wants less than before")
				require.Nil(t, f)
				want = n
				break
			}
			if err != nil {
				require.Zero(t, n)
				require.Nil(t, f)
				_, _, again := d.Decode(b)
				require.Equal(t, err, again, "the second time")
				r.Err, r.Left = err.Error(), len(pending)
				return r
			}
			require.GreaterOrEqual(t, n, max(want, 1), "shorter than it had said: %q", b)
			require.LessOrEqual(t, n, len(b))
			require.NotNil(t, f)
			requireInside(t, b[:n], f)
			r.Frames = append(r.Frames, string(f))
			pending, want = pending[n:], 0
		}
	}
	r.Left = len(pending)
	return r
}

func requireInside(t testing.TB, whole, part []byte) {
	t.Helper()
	from := uintptr(unsafe.Pointer(unsafe.SliceData(whole)))
	at := uintptr(unsafe.Pointer(unsafe.SliceData(part)))
	require.True(t, from <= at && at+uintptr(len(part)) <= from+uintptr(len(whole)), "a copy")
	require.Equal(t, len(part), cap(part), "appending to a frame would overwrite what follows it")
}

// feedEveryWay feeds input in one piece, by single bytes, and in every way to
// cut it (every way to cut it twice, if it is long): with one result.
// fresh makes a decoder for a new stream.
func feedEveryWay(t testing.TB, fresh func() frame.Decoder, input string) record {
	t.Helper()
	in := []byte(input)
	whole := feed(t, fresh(), [][]byte{in})
	check := func(pieces [][]byte) {
		t.Helper()
		got := feed(t, fresh(), pieces)
		if whole.Err != "" {
			got.Left = whole.Left // by pieces, it has failed before all was there
		}
		require.Equal(t, whole, got, "cut as %q", pieces)
	}
	single := make([][]byte, len(in))
	for i := range in {
		single[i] = in[i : i+1]
	}
	check(single)
	if len(in) <= 10 {
		for cuts := range 1 << max(len(in)-1, 0) {
			check(cutAt(in, func(i int) bool { return cuts&(1<<(i-1)) != 0 }))
		}
		return whole
	}
	for a := range in {
		for b := a; b < len(in); b++ {
			check(cutAt(in, func(i int) bool { return i == a || i == b }))
		}
	}
	return whole
}

// cutAt cuts before the bytes that are chosen.
func cutAt(in []byte, chosen func(int) bool) (pieces [][]byte) {
	from := 0
	for i := 1; i < len(in); i++ {
		if chosen(i) {
			pieces = append(pieces, in[from:i])
			from = i
		}
	}
	return append(pieces, in[from:])
}

func cutAtRandom(in []byte, seed uint64) [][]byte {
	r := rand.New(rand.NewPCG(seed, 1))
	every := 1 + r.IntN(20)
	return cutAt(in, func(int) bool { return r.IntN(every) == 0 })
}

// A pipe is a Source whose pieces arrive when they are peeked for: what a
// connection is for a sequential handler.
type pipe struct {
	pieces [][]byte
	buf    []byte
}

func (p *pipe) Buffered() int { return len(p.buf) }

func (p *pipe) Peek(n int) ([]byte, error) {
	for len(p.buf) < n {
		if len(p.pieces) == 0 {
			return p.buf, io.EOF
		}
		p.buf = append(bytes.Clone(p.buf), p.pieces[0]...)
		p.pieces = p.pieces[1:]
	}
	return p.buf[:n], nil
}

func (p *pipe) Discard(n int) (int, error) {
	if n > len(p.buf) {
		return 0, fmt.Errorf("discard %d of %d bytes", n, len(p.buf))
	}
	p.buf = p.buf[n:]
	return n, nil
}
