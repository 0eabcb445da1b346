package gateway

import "strings"

// wellFormed is a list of the client's to which the gateway appends. It is "" if the field is not a
// well-formed list: within a quoted string or a comment that never ends, the gateway's own element
// would not be one.
func wellFormed(list string, is func(string) bool) string {
	if !is(list) {
		return ""
	}
	return list
}

// isForwarded reports whether s is a list of Forwarded elements (RFC 7239, 4):
//
//	element = [ pair ] *( ";" [ pair ] )    pair = token "=" ( token / quoted-string )
func isForwarded(s string) bool {
	for s = spaces(s); s != ""; s = spaces(s) {
		if s[0] == ',' || s[0] == ';' {
			s = s[1:]
			continue
		}
		n := token(s)
		if n == 0 || n == len(s) || s[n] != '=' {
			return false
		}
		s = s[n+1:]
		if n = token(s); n == 0 {
			n = quoted(s)
		}
		if n == 0 {
			return false
		}
		s = spaces(s[n:])
		if s != "" && s[0] != ',' && s[0] != ';' {
			return false
		}
	}
	return true
}

// isVia reports whether every comment in s ends, and nothing but a comment could hide a comma
// (RFC 9110, 7.6.3).
func isVia(s string) bool {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth < 0 {
				return false
			}
		case c == '\\' && depth > 0:
			if i++; i == len(s) {
				return false
			}
		case (c == '"' || c == '\\') && depth == 0:
			return false
		}
	}
	return depth == 0
}

func spaces(s string) string { return strings.TrimLeft(s, " \t") }

// token is how long the token is with which s begins (RFC 9110, 5.6.2).
func token(s string) int {
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		if !letter && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return i
		}
	}
	return len(s)
}

// quoted is how long the quoted string is with which s begins; 0: there is none, or no end of it.
func quoted(s string) int {
	if s == "" || s[0] != '"' {
		return 0
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return 0
}
