package kv

import (
	"bytes"
	"strconv"
)

// words appends the words of a line, as Redis splits it: 'text' and "text" are one word, with \'
// in the former and \n, \r, \t, \b, \a and \xHH in the latter. A quote ends its word. It is not
// ok if a quote is missing.
func words(args [][]byte, line []byte) (_ [][]byte, ok bool) {
	for {
		line = bytes.TrimLeft(line, " \t\r\v\f\x00")
		if len(line) == 0 {
			return args, true
		}
		end := bytes.IndexAny(line, " \t\r\v\f\x00\"'")
		if end < 0 {
			return append(args, line), true
		}
		word := line[:end:end] // an append copies
		for line = line[end:]; len(line) > 0 && bytes.IndexByte([]byte(" \t\r\v\f\x00"), line[0]) < 0; {
			if line[0] != '"' && line[0] != '\'' {
				word, line = append(word, line[0]), line[1:]
				continue
			}
			if word, line, ok = quoted(word, line); !ok {
				return args, false
			}
		}
		args = append(args, word)
	}
}

// quoted appends the text between the quote at the front of line and the next quote. It returns the
// rest of the line: empty, or beginning with a space.
func quoted(word, line []byte) (_, rest []byte, ok bool) {
	quote := line[0]
	for line = line[1:]; len(line) > 0; line = line[1:] {
		c := line[0]
		switch {
		case c == quote:
			rest = line[1:]
			return word, rest, len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\v\f\x00"), rest[0]) >= 0
		case c == '\\' && len(line) > 1 && (quote == '"' || line[1] == '\''):
			line = line[1:]
			c = line[0]
			if quote == '\'' {
				break
			}
			if c == 'x' && len(line) > 2 {
				if v, err := strconv.ParseUint(string(line[1:3]), 16, 8); err == nil {
					c, line = byte(v), line[2:]
				}
				break
			}
			if i := bytes.IndexByte([]byte("nrtba"), c); i >= 0 {
				c = "\n\r\t\b\a"[i]
			}
		}
		word = append(word, c)
	}
	return nil, nil, false
}
