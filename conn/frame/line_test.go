package frame_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn/frame"
)

func lineOf(l frame.Line) func() frame.Decoder {
	return func() frame.Decoder { l := l; return &l }
}

func TestLinesOfEveryKind(t *testing.T) {
	const bad, long5 = "frame: CR or LF alone where lines end in CRLF", "frame: too long: 6 bytes or more, and 5 is the limit"
	for _, c := range []struct {
		name  string
		codec frame.Line
		in    string
		want  record
	}{
		{"any end", frame.Line{}, "a\nb\r\n\n\r\nc\rd\r\r\ne", record{Frames: []string{"a", "b", "", "", "c\rd\r"}, Left: 1}},
		{"LF alone", frame.Line{End: frame.LF}, "a\nb\r\n\n\r\n", record{Frames: []string{"a", "b\r", "", "\r"}}},
		{"CRLF", frame.Line{End: frame.CRLF}, "a\r\n\r\nbc\r\nd\r", record{Frames: []string{"a", "", "bc"}, Left: 2}},
		{"CRLF, a LF alone", frame.Line{End: frame.CRLF}, "a\r\nb\nc\r\n", record{Frames: []string{"a"}, Err: bad, Left: 5}},
		{"CRLF, a LF first", frame.Line{End: frame.CRLF}, "\n", record{Err: bad, Left: 1}},
		{"CRLF, a CR alone", frame.Line{End: frame.CRLF}, "a\r\nb\rc\r\n", record{Frames: []string{"a"}, Err: bad, Left: 5}},
		{"CRLF, two CRs", frame.Line{End: frame.CRLF}, "a\r\r\n", record{Err: bad, Left: 4}},
		{"a line of Max", frame.Line{Max: 5}, "abcd\nabc\r\n\n", record{Frames: []string{"abcd", "abc", ""}}},
		{"a line beyond Max", frame.Line{Max: 5}, "ab\nabcde\n", record{Frames: []string{"ab"}, Err: long5, Left: 6}},
		{"a line beyond Max by its CR", frame.Line{Max: 5}, "abcd\r\n", record{Err: long5, Left: 6}},
		{"a line of Max in CRLF", frame.Line{Max: 5, End: frame.CRLF}, "abc\r\n", record{Frames: []string{"abc"}}},
		{"a line beyond Max in CRLF", frame.Line{Max: 5, End: frame.CRLF}, "abcd\r\n", record{Err: long5, Left: 6}},
		{"Max comes before a LF alone", frame.Line{Max: 5, End: frame.CRLF}, "abcd\n", record{Err: long5, Left: 5}},
		{"a LF alone comes before Max", frame.Line{Max: 5, End: frame.CRLF}, "abc\nde", record{Err: bad, Left: 6}},
		{"a CR alone comes before Max", frame.Line{Max: 5, End: frame.CRLF}, "abc\rd", record{Err: bad, Left: 5}},
		{"Max of one", frame.Line{Max: 1}, "\n\n\r", record{Frames: []string{"", ""}, Err: "frame: too long: 2 bytes or more, and 1 is the limit", Left: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, feedEveryWay(t, lineOf(c.codec), c.in))
		})
	}
}

func TestTheLastLineMayLackItsEndWhereThatIsAllowed(t *testing.T) {
	for _, c := range []struct {
		name     string
		codec    frame.Line
		in, want string
		ok       bool
	}{
		{"any end", frame.Line{Unterminated: true}, "abc", "abc", true},
		{"any end, the LF is missing", frame.Line{Unterminated: true}, "abc\r", "abc", true},
		{"LF", frame.Line{Unterminated: true, End: frame.LF}, "abc\r", "abc\r", true},
		{"CRLF", frame.Line{Unterminated: true, End: frame.CRLF}, "abc", "abc", true},
		{"CRLF, half of it", frame.Line{Unterminated: true, End: frame.CRLF}, "abc\r", "", false},
		{"not allowed", frame.Line{}, "abc", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, n, err := frame.AtEOF(&c.codec, []byte(c.in))
			if !c.ok {
				require.ErrorIs(t, err, errUnexpectedEOF)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, string(f))
			require.Equal(t, len(c.in), n)
			requireInside(t, []byte(f), f)
		})
	}
}

func TestLineSaysHowMuchItWants(t *testing.T) {
	for _, c := range []struct {
		end  frame.LineEnd
		have string
		want int
	}{
		{frame.AnyEnd, "", 1}, {frame.AnyEnd, "abc", 4}, {frame.LF, "abc\r", 5},
		{frame.CRLF, "", 2}, {frame.CRLF, "abc", 5}, {frame.CRLF, "abc\r", 5},
	} {
		l := frame.Line{End: c.end}
		_, n, err := l.Decode([]byte(c.have))
		require.Equal(t, frame.ErrIncomplete, err)
		require.Equal(t, c.want, n, "%q", c.have)
	}
}

func TestLinesAreWrittenWithTheirEnd(t *testing.T) {
	for end, want := range map[frame.LineEnd]string{frame.AnyEnd: "> abc\n", frame.LF: "> abc\n", frame.CRLF: "> abc\r\n"} {
		l := frame.Line{End: end}
		wire, err := l.Append([]byte("> "), []byte("abc"))
		require.NoError(t, err)
		require.Equal(t, want, string(wire))
	}
}

func TestLineRefusesAPayloadWithAnEndInIt(t *testing.T) {
	for _, c := range []struct {
		end     frame.LineEnd
		payload string
		ok      bool
	}{
		{frame.AnyEnd, "a\nb", false}, {frame.AnyEnd, "a\r", false}, {frame.AnyEnd, "a\rb", true},
		{frame.LF, "a\nb", false}, {frame.LF, "a\r", true},
		{frame.CRLF, "a\nb", false}, {frame.CRLF, "a\rb", false}, {frame.CRLF, "a", true},
	} {
		l := frame.Line{End: c.end}
		dst, err := l.Append([]byte("x"), []byte(c.payload))
		if c.ok {
			require.NoError(t, err)
			continue
		}
		require.Equal(t, frame.ErrPayload, err, "%q", c.payload)
		require.Equal(t, "x", string(dst))
	}
	l := frame.Line{End: frame.CRLF, Max: 5}
	_, err := l.Append(nil, []byte("abc"))
	require.NoError(t, err)
	_, err = l.Append(nil, []byte("abcd"))
	require.Equal(t, &frame.TooLongError{Length: 6, Max: 5}, err)
}

// The searched bytes are overwritten with ends of lines: a decoder that searched
// it again would find them.
func TestLineLooksAtEachByteOnce(t *testing.T) {
	for _, end := range []frame.LineEnd{frame.AnyEnd, frame.LF, frame.CRLF} {
		l := frame.Line{End: end}
		b := []byte("some text")
		_, _, err := l.Decode(b)
		require.Equal(t, frame.ErrIncomplete, err)
		for i := range b {
			b[i] = '\n'
		}
		f, n, err := l.Decode(append(b, " more\r\n"...))
		require.NoError(t, err)
		require.Len(t, b, 9)
		require.Equal(t, 9+7, n)
		require.Equal(t, " more", string(f[9:14]))

		_, _, err = l.Decode([]byte("abc"))
		require.Equal(t, frame.ErrIncomplete, err)
		l.Reset()
		_, n, err = l.Decode([]byte("\r\n another stream"))
		require.NoError(t, err)
		require.Equal(t, 2, n)
	}
}
