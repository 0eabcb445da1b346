package h1

// ParseBody hands out the next piece of the current request's body. buf holds the unconsumed bytes
// of the connection, the head discarded. The first n bytes are consumed; chunk, a slice of them,
// holds decoded body bytes and may be empty. With done the body, trailers included, has ended, and
// any chunk that comes along is its last.
// With n == 0 and not done, more bytes are needed. An error is an [*Error].
//
// For a request without a body it is done at once, so calling it is optional then.
func (p *Parser) ParseBody(buf []byte) (n int, chunk []byte, done bool, err error) {
	switch p.state {
	case inHead:
		return 0, nil, true, nil
	case failed:
		return 0, nil, false, p.err
	case inBody:
		chunk = p.take(buf)
		if p.left == 0 {
			p.state = inHead
		}
		return len(chunk), chunk, p.left == 0, nil
	}
	n, chunk, verdict := p.chunked(buf)
	if verdict != nil {
		return 0, nil, false, p.fail(verdict)
	}
	return n, chunk, p.state == inHead, nil
}

// take cuts the rest of a body or chunk off buf.
func (p *Parser) take(buf []byte) []byte {
	n := int(min(int64(len(buf)), p.left))
	p.left -= int64(n)
	return buf[:n:n]
}

// chunked goes on until it has data to hand out, the body ends, or buf does.
func (p *Parser) chunked(buf []byte) (n int, chunk []byte, err *Error) {
	for n < len(buf) {
		switch p.state {
		case inChunkSize:
			i, err := p.sizeLine(buf[n:])
			if err != nil {
				return 0, nil, err
			}
			n += i
		case inChunkData:
			chunk = p.take(buf[n:])
			n += len(chunk)
			if p.left == 0 {
				p.state = inChunkEnd
				if n+1 < len(buf) && buf[n] == '\r' && buf[n+1] == '\n' {
					n += 2
					p.startChunk()
				}
			}
			return n, chunk, nil
		case inChunkEnd:
			// p.left counts the bytes of the CRLF seen.
			if buf[n] != "\r\n"[p.left] {
				return 0, nil, errChunkEnd
			}
			n++
			if p.left++; p.left == 2 {
				p.startChunk()
			}
		case inTrailer:
			i, err := p.trailer(buf[n:])
			if err != nil {
				return 0, nil, err
			}
			n += i
			if i == 0 || p.state == inHead {
				return n, nil, nil
			}
		}
	}
	return n, nil, nil
}
