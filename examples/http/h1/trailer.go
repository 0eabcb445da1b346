package h1

import "bytes"

// forbidden lists, by length, the fields that a trailer must not carry (RFC 9110 section 6.5.1):
// those that frame, route, authenticate or describe the content. All these were acted upon before
// the trailer came.
var forbidden = [...]string{
	"te", "age", "date", "host", "vary", "range", "allow", "cookie", "expect", "pragma",
	"expires", "trailer", "upgrade", "if-match", "if-range", "location", "warning", "connection",
	"keep-alive", "set-cookie", "retry-after", "content-type", "max-forwards", "authorization",
	"cache-control", "content-range", "if-none-match", "content-length", "content-encoding",
	"proxy-connection", "www-authenticate", "transfer-encoding", "if-modified-since",
	"proxy-authenticate", "if-unmodified-since", "proxy-authorization",
}

// MayTrail reports whether a trailer may carry a field of that name, which is a token in any case.
func MayTrail(name []byte) bool {
	for _, bad := range forbidden {
		if equalFold(name, bad) {
			return false
		}
	}
	return len(name) > 0 && allOf(name, tokenByte)
}

// trailer consumes one line of the trailer block; 0 if it is incomplete. After the empty one the
// parser is back in a head.
func (p *Parser) trailer(buf []byte) (int, *Error) {
	lf := bytes.IndexByte(buf[p.scan:], '\n')
	size := len(buf)
	if lf >= 0 {
		size = p.scan + lf + 1
	}
	if p.count+size > p.limits().trailer() {
		return 0, errTrailerLong
	}
	if lf < 0 {
		p.scan = len(buf)
		return 0, nil
	}
	line := buf[:size]
	p.scan = 0
	p.count += size
	if string(line) == "\r\n" || p.lax && string(line) == "\n" {
		p.state, p.count = inHead, 0
		return size, nil
	}
	f, _, err := parseField(line, 0, p.lax) // a whole line
	if err != nil {
		return 0, err
	}
	switch allowed := MayTrail(line[:f.nameEnd]); {
	case !allowed && !p.lax:
		return 0, errTrailer
	case allowed && p.KeepTrailer:
		p.kept = append(append(p.kept, line[:f.nameEnd]...), ": "...)
		p.kept = append(append(p.kept, line[f.value:f.valueEnd]...), "\r\n"...)
	}
	return size, nil
}

// Trailer is the fields that came after the last body, with KeepTrailer: a line "name: value" with
// its CRLF for each, in the order sent, every one allowed to be there. It is the parser's, until
// the next ParseHead.
func (p *Parser) Trailer() []byte { return p.kept }
