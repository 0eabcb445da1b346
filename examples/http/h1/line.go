package h1

import (
	"bytes"
	"encoding/binary"
)

var http11 = binary.LittleEndian.Uint64([]byte("HTTP/1.1"))

// requestLine parses the request line at b[at:]. It returns the start of the next line, or 0 if the
// line is incomplete; an error may also mean that it is.
func (r *Request) requestLine(b []byte, at int) (int, *Error) {
	if n := r.lineAgain(b[at:]); n > 0 {
		return at + n, nil
	}
	r.seen = marks{}
	i := span(b, at, tokenByte)
	if i == len(b) {
		return 0, nil
	}
	if i == at || b[i] != ' ' {
		return 0, errMethod
	}
	r.Method = b[at:i:i]
	i++
	start := i
	if i < len(b) && b[i] == '/' && !isConnect(r.Method) {
		var err *Error
		if i, err = r.origin(b, i); err != nil {
			return 0, err
		}
		r.Host = nil
		r.Target = b[start:i:i]
		r.seen = marks{method: start - 1 - at, path: start - at + len(r.Path), target: i - at}
		return r.version(b, i)
	}
	i = span(b, i, queryByte)
	r.Target = b[start:i:i]
	end, err := r.version(b, i)
	if err != nil || end == 0 {
		return 0, err
	}
	return end, r.otherForm()
}

// version parses the space, the version and the line's end at b[i:].
func (r *Request) version(b []byte, i int) (int, *Error) {
	if i+11 <= len(b) && b[i] == ' ' && binary.LittleEndian.Uint64(b[i+1:]) == http11 &&
		b[i+9] == '\r' && b[i+10] == '\n' {
		r.Minor = 1
		return i + 11, nil
	}
	lf := bytes.IndexByte(b[i:], '\n')
	if lf < 0 {
		return 0, nil
	}
	s := b[i : i+lf]
	switch {
	case len(s) == 0 || s[len(s)-1] != '\r':
		return 0, errBareLF
	case len(s) == 1:
		return 0, errVersion
	case s[0] != ' ':
		return 0, errTarget
	case len(s) != len(" HTTP/1.1\r") || string(s[:6]) != " HTTP/" || s[7] != '.' ||
		classes[s[6]]&classes[s[8]]&digitByte == 0 || s[6] == '0':
		return 0, errVersion
	case s[6] != '1':
		return 0, errVersionNo
	}
	r.Minor = min(int(s[8]-'0'), 1)
	return i + lf + 1, nil
}
