package frame_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn/frame"
)

var errUnexpectedEOF = io.ErrUnexpectedEOF

func delimiterOf(d frame.Delimiter) func() frame.Decoder {
	return func() frame.Decoder { d := d; return &d }
}

func TestDelimitersOfEveryKind(t *testing.T) {
	const long5 = "frame: too long: 6 bytes or more, and 5 is the limit"
	for _, c := range []struct {
		name, delim string
		limit       int
		in          string
		want        record
	}{
		{"one byte", "\x00", 0, "ab\x00\x00c\x00d", record{Frames: []string{"ab", "", "c"}, Left: 1}},
		{"two bytes", "\r\n", 0, "a\rb\n\r\n\r\r\n", record{Frames: []string{"a\rb\n", "\r"}}},
		{"one that repeats", "aab", 0, "aaab.aab", record{Frames: []string{"a", "."}}},
		{"one that overlaps itself", "abab", 0, "abaabababab", record{Frames: []string{"aba", ""}}},
		{"all of one byte", "--", 0, "-----", record{Frames: []string{"", ""}, Left: 1}},
		{"a frame of Max", "::", 5, "abc::abc::", record{Frames: []string{"abc", "abc"}}},
		{"a frame beyond Max", "::", 5, "a::abcd::", record{Frames: []string{"a"}, Err: long5, Left: 6}},
		{"half a delimiter at Max", "::", 5, "abcd:", record{Err: long5, Left: 5}},
		{"Max is the delimiter", "12345", 5, "12345" + "1234", record{Frames: []string{""}, Left: 4}},
		{"Max is the delimiter and that is missed", "12345", 5, "123450", record{Frames: []string{""}, Err: long5, Left: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := frame.Delimiter{Delim: []byte(c.delim), Max: c.limit}
			require.Equal(t, c.want, feedEveryWay(t, delimiterOf(d), c.in))
		})
	}
}

func TestALongDelimiterIsFoundAcrossPieces(t *testing.T) {
	delim := strings.Repeat("ab", 40) + "!"
	in := []byte(strings.Repeat("ab", 50) + "!" + "tail" + delim)
	for _, cut := range []int{1, 2, 3, 7, 79, 80, 81, 82, 101, 140} {
		d := frame.Delimiter{Delim: []byte(delim)}
		got := feed(t, &d, cutAt(in, func(i int) bool { return i%cut == 0 }))
		require.Equal(t, record{Frames: []string{strings.Repeat("ab", 10), "tail"}}, got)
	}
}

// The searched bytes are overwritten with delimiters: a decoder that searched it
// again would find them. Only the end that may begin one must stay.
func TestDelimiterSearchesNothingTwice(t *testing.T) {
	d := frame.Delimiter{Delim: []byte("\r\n\r\n")}
	var b []byte
	for range 1000 {
		b = append(b, "text\r\n"...)
		_, n, err := d.Decode(b)
		require.Equal(t, frame.ErrIncomplete, err)
		require.Equal(t, len(b)+2, n)
		copy(b[:len(b)-2], bytes.Repeat([]byte("\r\n\r\n"), len(b)/4))
	}
	_, n, err := d.Decode(append(b, "\r\nnext"...))
	require.NoError(t, err)
	require.Equal(t, len(b)+2, n)

	_, _, err = d.Decode([]byte("abc"))
	require.Equal(t, frame.ErrIncomplete, err)
	d.Reset()
	_, n, err = d.Decode([]byte("\r\n\r\n another stream"))
	require.NoError(t, err)
	require.Equal(t, 4, n)
}

func TestDelimiterSaysHowMuchItWants(t *testing.T) {
	for have, want := range map[string]int{"": 4, "a": 5, "a\r": 5, "a\r\n": 5, "a\r\n\r": 5, "a\r\n\rb": 9} {
		d := frame.Delimiter{Delim: []byte("\r\n\r\n")}
		_, n, err := d.Decode([]byte(have))
		require.Equal(t, frame.ErrIncomplete, err)
		require.Equal(t, want, n, "%q", have)
	}
}

func TestTheLastFrameMayLackItsDelimiterWhereThatIsAllowed(t *testing.T) {
	d := frame.Delimiter{Delim: []byte("::"), Unterminated: true}
	f, n, err := frame.AtEOF(&d, []byte("abc:"))
	require.NoError(t, err)
	require.Equal(t, "abc:", string(f))
	require.Equal(t, 4, n)
	d.Unterminated = false
	_, _, err = frame.AtEOF(&d, []byte("abc:"))
	require.ErrorIs(t, err, errUnexpectedEOF)
}

func TestDelimiterRefusesAPayloadThatWouldNotComeBack(t *testing.T) {
	for _, c := range []struct {
		delim, payload string
		ok             bool
	}{
		{"::", "abc", true}, {"::", "a:b", true}, {"::", "", true},
		{"::", "a::b", false}, {"::", "a:", false}, {"abab", "xab", false}, {"aab", "xa", true}, {"ab", "xa", true},
	} {
		d := frame.Delimiter{Delim: []byte(c.delim)}
		dst, err := d.Append([]byte(c.delim[:1]), []byte(c.payload))
		if c.ok {
			require.NoError(t, err)
			require.Equal(t, c.delim[:1]+c.payload+c.delim, string(dst))
			continue
		}
		require.Equal(t, frame.ErrPayload, err, "%q %q", c.delim, c.payload)
		require.Equal(t, c.delim[:1], string(dst))
	}
	d := frame.Delimiter{Delim: []byte("::"), Max: 5}
	_, err := d.Append(nil, []byte("abc"))
	require.NoError(t, err)
	_, err = d.Append(nil, []byte("abcd"))
	require.Equal(t, &frame.TooLongError{Length: 6, Max: 5}, err)
}

func TestADelimiterThatMakesNoSensePanics(t *testing.T) {
	for _, d := range []frame.Delimiter{{}, {Delim: []byte("::"), Max: 1}, {Delim: []byte(":"), Max: -1}} {
		require.Panics(t, func() { _, _, _ = d.Decode(nil) })
		require.Panics(t, func() { _, _ = d.Append(nil, nil) })
	}
}
