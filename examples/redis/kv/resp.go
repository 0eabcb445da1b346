package kv

import (
	"bytes"
	"strconv"
)

const (
	maxArgs   = 1 << 20
	maxBulk   = 512 << 20
	maxInline = 64 << 10
)

// A protocolError ends its connection: the start of the next command is unknown.
type protocolError string

func (e protocolError) Error() string { return "Protocol error: " + string(e) }

// parse finds the command at the front of p, which is not empty. The arguments are parts of p,
// appended to args[:0]. n is the length of the command. If p is only its beginning, n is 0 and the
// command has need bytes or more.
func parse(args [][]byte, p []byte) (_ [][]byte, n, need int, err error) {
	args = args[:0]
	if p[0] != '*' {
		return parseInline(args, p)
	}
	count, i, ok := length(p, 1)
	switch {
	case !ok || count > maxArgs:
		return args, 0, 0, protocolError("invalid multibulk length")
	case i == 0:
		return args, 0, len(p) + 1, nil
	}
	for ; count > 0; count-- {
		if i == len(p) {
			return args, 0, atLeast(p, i, count), nil
		}
		if p[i] != '$' {
			return args, 0, 0, protocolError("expected '$', got '" + string(p[i:i+1]) + "'")
		}
		size, at, ok := length(p, i+1)
		switch {
		case !ok || size < 0 || size > maxBulk:
			return args, 0, 0, protocolError("invalid bulk length")
		case at == 0:
			return args, 0, atLeast(p, i, count), nil
		case at+size+2 > len(p):
			return args, 0, atLeast(p, at+size+2, count-1), nil
		}
		args = append(args, p[at:at+size:at+size])
		i = at + size + 2
	}
	return args, i, 0, nil
}

// atLeast is the length of a command that is p so far and has count arguments from i on. It is just
// more than that of p while they are few, so that an error is found as soon as it arrives. Many are
// not parsed again for each byte: the shortest is $0\r\n\r\n.
func atLeast(p []byte, i, count int) int {
	if count > 1000 {
		i += 6 * count
	}
	return max(len(p)+1, i)
}

// length is the number from i to the CRLF behind it, and where the next byte is: 0 if the CRLF has
// not arrived. It is not ok if there is no number.
func length(p []byte, i int) (v, next int, ok bool) {
	if q := p[i:]; len(q) >= 4 { // nearly all have one digit or two
		d, e := q[0]-'0', q[1]-'0'
		switch {
		case d <= 9 && q[1] == '\r' && q[2] == '\n':
			return int(d), i + 3, true
		case d <= 9 && e <= 9 && q[2] == '\r' && q[3] == '\n':
			return int(10*d + e), i + 4, true
		}
	}
	first := i
	negative := i < len(p) && p[i] == '-'
	if negative {
		i++
	}
	for ; i < len(p); i++ {
		d := p[i] - '0'
		if d > 9 {
			break
		}
		if v = 10*v + int(d); v > maxBulk {
			return 0, 0, false
		}
	}
	switch {
	case i == len(p):
		return 0, 0, i-first < 20
	case p[i] != '\r' || p[i-1] == '-' || i == first:
		return 0, 0, false
	case i+1 == len(p):
		return 0, 0, true
	case p[i+1] != '\n':
		return 0, 0, false
	case negative:
		v = -v
	}
	return v, i + 2, true
}

// parseInline is parse for a line of words, as people type them.
func parseInline(args [][]byte, p []byte) (_ [][]byte, n, need int, err error) {
	end := bytes.IndexByte(p, '\n')
	switch {
	case end < 0 && len(p) >= maxInline || end >= maxInline:
		return args, 0, 0, protocolError("too big inline request")
	case end < 0:
		return args, 0, len(p) + 1, nil
	}
	args, ok := words(args, bytes.TrimSuffix(p[:end], []byte{'\r'}))
	if !ok {
		return args, 0, 0, protocolError("unbalanced quotes in request")
	}
	return args, end + 1, 0, nil
}

// integer is a number as Redis writes it: without a sign plus or zeros in front.
func integer(p []byte) (v int64, ok bool) {
	v, err := strconv.ParseInt(string(p), 10, 64)
	return v, err == nil && bytes.Equal(strconv.AppendInt(make([]byte, 0, 20), v, 10), p)
}

func appendBulk(out, value []byte) []byte {
	out = appendHead(out, '$', len(value))
	return append(append(out, value...), "\r\n"...)
}

func appendHead(out []byte, kind byte, n int) []byte {
	return append(strconv.AppendInt(append(out, kind), int64(n), 10), "\r\n"...)
}

func appendInt(out []byte, n int64) []byte {
	return append(strconv.AppendInt(append(out, ':'), n, 10), "\r\n"...)
}

// appendError is a reply with an error. Ends of lines in the text would end the reply.
func appendError(out []byte, text string) []byte {
	out = append(out, "-ERR "...)
	for i := range len(text) {
		if c := text[i]; c == '\r' || c == '\n' {
			out = append(out, ' ')
		} else {
			out = append(out, c)
		}
	}
	return append(out, "\r\n"...)
}
