package frame_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/conn/frame"
)

var (
	_ frame.Source = (*conn.Conn)(nil)
	_ frame.Source = (*conn.Stream)(nil)
	_ frame.Source = (*bufio.Reader)(nil)
)

func buffered(s string) *pipe { return &pipe{buf: []byte(s)} }

func TestAllGivesTheFramesThatAreBufferedAndLeavesTheRest(t *testing.T) {
	src := buffered("a\nbc\n\nrest")
	var got []string
	for f, err := range frame.All(src, &frame.Line{}) {
		require.NoError(t, err)
		got = append(got, string(f))
	}
	require.Equal(t, []string{"a", "bc", ""}, got)
	require.Equal(t, "rest", string(src.buf))
	for range frame.All(src, &frame.Line{}) {
		t.Fatal("a frame that is not there")
	}
}

func TestAllGivesAnErrorOnceAndLeavesTheOffendingFrame(t *testing.T) {
	src := buffered("a\r\nb\nc\r\n")
	var frames []string
	var errs []error
	for f, err := range frame.All(src, &frame.Line{End: frame.CRLF}) {
		if err != nil {
			require.Nil(t, f)
			errs = append(errs, err)
			continue
		}
		frames = append(frames, string(f))
	}
	require.Equal(t, []string{"a"}, frames)
	require.Equal(t, []error{frame.ErrLineEnd}, errs)
	require.Equal(t, "b\nc\r\n", string(src.buf))
}

func TestTheBodyOfALoopMayReadTheSourceAndLeave(t *testing.T) {
	src := buffered("5\nhello3\nabc0\nnext")
	var bodies []string
	for f, err := range frame.All(src, &frame.Line{}) {
		require.NoError(t, err)
		n := int(f[0] - '0')
		if n == 0 {
			break
		}
		body, err := src.Peek(n)
		require.NoError(t, err)
		bodies = append(bodies, string(body))
		_, err = src.Discard(n)
		require.NoError(t, err)
	}
	require.Equal(t, []string{"hello", "abc"}, bodies)
	require.Equal(t, "next", string(src.buf), "the frame at which the loop was left is read")
}

func TestNextSaysHowMuchMustBeBuffered(t *testing.T) {
	src := buffered("\x00\x00\x00\x05hell")
	_, n, err := frame.Next(src, &frame.Length{})
	require.Equal(t, frame.ErrIncomplete, err)
	require.Equal(t, 9, n)
	src.buf = append(src.buf, "o…"...)
	f, n, err := frame.Next(src, &frame.Length{})
	require.NoError(t, err)
	require.Equal(t, 9, n)
	require.Equal(t, "hello", string(f))
	require.Equal(t, "…", string(src.buf))
}

func TestReadWaitsForFramesAndForTheEnd(t *testing.T) {
	const in = "\x03abc\x00\x05hello"
	for _, src := range map[string]frame.Source{
		"pipe, by bytes": &pipe{pieces: cutAt([]byte(in), func(int) bool { return true })},
		"pipe, in one":   &pipe{pieces: [][]byte{[]byte(in)}},
		"bufio":          bufio.NewReader(strings.NewReader(in)),
		"bufio, small":   bufio.NewReaderSize(strings.NewReader(in), 16),
	} {
		c := &frame.Length{Width: 1}
		for _, want := range []string{"abc", "", "hello"} {
			f, err := frame.Read(src, c)
			require.NoError(t, err)
			require.Equal(t, want, string(f))
		}
		_, err := frame.Read(src, c)
		require.Equal(t, io.EOF, err)
	}
}

func TestAStreamThatEndsWithinAFrame(t *testing.T) {
	_, err := frame.Read(bufio.NewReader(strings.NewReader("\x05hell")), &frame.Length{Width: 1})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.EqualError(t, err, "frame: the stream ends after 5 bytes of a frame of 6 or more: unexpected EOF")

	src := bufio.NewReader(strings.NewReader("one\ntwo"))
	l := &frame.Line{Unterminated: true}
	for _, want := range []string{"one", "two"} {
		f, err := frame.Read(src, l)
		require.NoError(t, err)
		require.Equal(t, want, string(f))
	}
	_, err = frame.Read(src, l)
	require.Equal(t, io.EOF, err)

	f, n, err := frame.AtEOF(l, []byte("one\ntwo"))
	require.NoError(t, err)
	require.Equal(t, 4, n, "a whole frame goes first")
	require.Equal(t, "one", string(f))
	_, _, err = frame.AtEOF(&frame.Line{Max: 2}, []byte("one"))
	require.ErrorIs(t, err, frame.ErrTooLong)
}

func TestReadGivesTheErrorOfASourceThatDoesNotWait(t *testing.T) {
	_, err := frame.Read(&short{buf: []byte("abc")}, &frame.Line{})
	require.Equal(t, io.ErrShortBuffer, err)
	_, err = frame.Read(bufio.NewReaderSize(strings.NewReader(strings.Repeat("x", 20)+"\n"), 16), &frame.Line{})
	require.Equal(t, bufio.ErrBufferFull, err)
}

// A short peeks as a connection does.
type short struct{ buf []byte }

func (s *short) Buffered() int { return len(s.buf) }
func (s *short) Peek(n int) ([]byte, error) {
	if n > len(s.buf) {
		return s.buf, io.ErrShortBuffer
	}
	return s.buf[:n], nil
}
func (s *short) Discard(n int) (int, error) { s.buf = s.buf[n:]; return n, nil }

func TestADecoderOfOnesOwn(t *testing.T) {
	even := frame.DecoderFunc(func(b []byte) ([]byte, int, error) { // pairs of bytes
		if len(b) < 2 {
			return nil, 2, frame.ErrIncomplete
		}
		return b[:2:2], 2, nil
	})
	require.Equal(t, record{Frames: []string{"ab", "cd"}, Left: 1}, feedEveryWay(t, func() frame.Decoder { return even }, "abcde"))
	_, _, err := frame.AtEOF(even, []byte("e"))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)

	wrapped := frame.DecoderFunc(func([]byte) ([]byte, int, error) { return nil, 1, errors.Join(frame.ErrIncomplete) })
	for range frame.All(buffered(""), wrapped) {
		t.Fatal("a frame of nothing")
	}
}

func TestADecoderThatLosesItsPlacePanics(t *testing.T) {
	for name, d := range map[string]frame.DecoderFunc{
		"takes nothing":        func(b []byte) ([]byte, int, error) { return b, 0, nil },
		"takes more":           func(b []byte) ([]byte, int, error) { return b, len(b) + 1, nil },
		"wants what it has":    func(b []byte) ([]byte, int, error) { return nil, len(b), frame.ErrIncomplete },
		"wants less than none": func([]byte) ([]byte, int, error) { return nil, -1, frame.ErrIncomplete },
	} {
		require.Panics(t, func() { _, _, _ = frame.Next(buffered("abc"), d) }, name)
	}
}

func TestAFrameStaysValidWhileItsSourceDoes(t *testing.T) {
	src := bufio.NewReader(bytes.NewReader([]byte("one\ntwo\nthree\n")))
	_, err := src.Peek(1)
	require.NoError(t, err)
	var frames [][]byte
	for f, err := range frame.All(src, &frame.Line{}) {
		require.NoError(t, err)
		frames = append(frames, f)
	}
	require.Equal(t, [][]byte{[]byte("one"), []byte("two"), []byte("three")}, frames)
}

func TestEachWaitsForFramesUpToTheEnd(t *testing.T) {
	in := "one\ntwo\n\nrest"
	for size := 1; size <= len(in); size++ {
		src := bufio.NewReader(io.MultiReader(strings.NewReader(in[:size]), strings.NewReader(in[size:])))
		var got []string
		for f, err := range frame.Each(src, &frame.Line{}) {
			require.NoError(t, err)
			if got = append(got, string(f)); len(got) == 3 {
				break
			}
		}
		require.Equal(t, []string{"one", "two", ""}, got)
		rest, err := io.ReadAll(src)
		require.NoError(t, err)
		require.Equal(t, "rest", string(rest), "an early break loses nothing")
	}
	errs := 0
	for _, err := range frame.Each(bufio.NewReader(strings.NewReader("rest")), &frame.Line{}) {
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		errs++
	}
	require.Equal(t, 1, errs)
	errs = 0
	for _, err := range frame.Each(bufio.NewReader(strings.NewReader("too long\n")), &frame.Line{Max: 3}) {
		require.ErrorIs(t, err, frame.ErrTooLong)
		errs++
	}
	require.Equal(t, 1, errs)
}
