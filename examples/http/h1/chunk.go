package h1

import "math"

// chunkState is a place inside a chunk-size line,
//
//	1*HEXDIG *( BWS ";" BWS token [ BWS "=" BWS ( token / quoted-string ) ] ) CRLF
//
// read byte by byte, so that nothing of it needs to be kept and no split can matter.
type chunkState uint8

const (
	sizeFirst   chunkState = iota // the first digit
	sizeMore                      // more digits
	extSpace                      // white space before ";"
	extSemi                       // after ";": white space or a name
	extName                       // inside a name
	extNameEnd                    // white space after a name: "=" or ";" must follow
	extEqual                      // after "=": white space or a value
	extToken                      // inside a token value
	extQuoted                     // inside a quoted value
	extEscape                     // after a backslash inside a quoted value
	extQuoteEnd                   // after a quoted value
	extAny                        // inside an extension of a reply
	sizeLF                        // the LF
)

// maxSizeDigits bounds leading zeros too.
const maxSizeDigits = 16

// startChunk expects a chunk-size line next.
func (p *Parser) startChunk() {
	p.state, p.chunk = inChunkSize, sizeFirst
	p.left, p.digits = 0, 0
}

// sizeLine consumes bytes of a chunk-size line, to its end at most.
func (p *Parser) sizeLine(buf []byte) (int, *Error) {
	for i, c := range buf {
		if p.chunk <= sizeMore {
			if classes[c]&hexByte != 0 {
				if p.digits++; p.digits > maxSizeDigits || p.left > math.MaxInt64>>4 {
					return 0, errChunkSize
				}
				p.left = p.left<<4 | int64(hexValue(c))
				p.chunk = sizeMore
				continue
			}
			if p.chunk == sizeFirst {
				return 0, errChunkSize
			}
		}
		if p.chunk == sizeLF {
			if c != '\n' {
				return 0, errBareCR
			}
			return i + 1, p.sizeDone()
		}
		next, ok := p.chunk.next(c)
		if p.lax {
			next, ok = p.chunk.laxNext(c)
		}
		if !ok {
			if p.chunk == sizeMore {
				return 0, errChunkSize
			}
			return 0, errChunkExt
		}
		p.chunk = next
		if next != sizeLF {
			if p.ext++; p.ext > p.limits().extension() {
				return 0, errChunkExts
			}
		}
	}
	return len(buf), nil
}

// next is the state after c, which is no digit of the size.
func (s chunkState) next(c byte) (chunkState, bool) {
	space := c == ' ' || c == '\t'
	token := classes[c]&tokenByte != 0
	switch {
	case s == extQuoted:
		switch {
		case c == '"':
			return extQuoteEnd, true
		case c == '\\':
			return extEscape, true
		}
		return extQuoted, classes[c]&quotedByte != 0
	case s == extEscape:
		return extQuoted, classes[c]&valueByte != 0
	case c == '\r':
		return sizeLF, s == sizeMore || s == extName || s == extToken || s == extQuoteEnd
	case c == ';':
		return extSemi, s != extSemi && s != extEqual
	case c == '=':
		return extEqual, s == extName || s == extNameEnd
	case c == '"':
		return extQuoted, s == extEqual
	case space && (s == sizeMore || s == extToken || s == extQuoteEnd || s == extSpace):
		return extSpace, true
	case space && (s == extName || s == extNameEnd):
		return extNameEnd, true
	case space && (s == extSemi || s == extEqual):
		return s, true
	case token && (s == extSemi || s == extName):
		return extName, true
	case token && (s == extEqual || s == extToken):
		return extToken, true
	}
	return s, false
}

// laxNext is next for a reply: white space may end the line, and extensions are passed over.
func (s chunkState) laxNext(c byte) (chunkState, bool) {
	switch {
	case c == '\r':
		return sizeLF, true
	case c == ';' || s == extAny:
		return extAny, classes[c]&valueByte != 0
	}
	return extSpace, c == ' ' || c == '\t'
}

// sizeDone acts on a complete chunk-size line.
func (p *Parser) sizeDone() *Error {
	if p.left == 0 {
		p.state = inTrailer
		p.scan, p.count = 0, 0
		return nil
	}
	if p.left > p.limits().body()-p.total {
		return errBodyLarge
	}
	p.total += p.left
	if p.lax { // as net/http does it: padding may grow with the body
		p.ext = int(max(0, int64(p.ext)-16-2*min(p.left, 1<<20)))
	}
	p.state = inChunkData
	return nil
}

func hexValue(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
