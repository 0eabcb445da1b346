package h1

import "bytes"

// maxEmptyLines is how many empty lines may stand before a request line: RFC 9112 section 2.2 asks
// for tolerance of at least one, which old clients send after a body.
const maxEmptyLines = 4

type state uint8

const (
	inHead      state = iota // before or inside a head
	inBody                   // left bytes of a body of known length
	inChunkSize              // chunk: a byte of a chunk-size line is next
	inChunkData              // left bytes of a chunk
	inChunkEnd               // the CRLF after a chunk's data
	inTrailer                // a trailer line is next
	failed                   // err is set
)

// Parser takes the requests of one connection apart. The zero value is ready. It is not safe for
// concurrent use; it holds no reference to any buffer.
type Parser struct {
	Limits *Limits // nil: every default

	// KeepTrailer keeps the fields of trailers for Trailer. Without it they are dropped.
	KeepTrailer bool

	// All offsets count from the first unconsumed byte.
	line  int // inHead: the first line not yet judged
	block int // inHead: where the header block starts; 0 while the request line is incomplete
	scan  int // no LF stands between line and here
	count int // inHead: header fields before line; inTrailer: bytes of trailer consumed

	left  int64 // inBody, inChunkData: bytes to come; inChunkSize: the size so far
	total int64 // decoded bytes of a chunked body so far, announced ones included
	ext   int   // bytes of chunk extensions so far
	err   *Error
	kept  []byte // of the last trailer

	lax    bool  // the messages are replies: see ReplyParser
	digits uint8 // of the chunk size so far
	chunk  chunkState
	state  state
}

// Reset makes p ready for another connection with the same limits.
func (p *Parser) Reset() { *p = Parser{Limits: p.Limits, KeepTrailer: p.KeepTrailer, kept: p.kept[:0]} }

// InBody reports whether the body of the last request has not ended yet. If the peer closes then,
// or while unconsumed bytes are left, it cut a request short.
func (p *Parser) InBody() bool { return p.state != inHead && p.state != failed }

// ParseHead reads a request head from buf, which holds all unconsumed bytes of the connection.
//
// With n > 0, req is filled in and the first n bytes are consumed: discard them once req is no
// longer needed. With n == 0 and no error, req means nothing and more bytes are needed: call again
// with the same bytes and some more after them, moved elsewhere or not. No byte is searched twice:
// the cost of a head grows with its length, however small its pieces.
// An error is an [*Error].
//
// Call it when the previous body, if any, is done; earlier is an error (500).
func (p *Parser) ParseHead(buf []byte, req *Request) (n int, err error) {
	if p.state != inHead {
		return 0, p.misplaced()
	}
	p.kept = p.kept[:0]
	if p.scan > 0 {
		i := bytes.IndexByte(buf[p.scan:], '\n')
		if i < 0 {
			return 0, p.starve(buf)
		}
	}
	resumed := p.block > 0
	n, verdict := p.head(buf, req)
	if n > 0 && resumed {
		// req holds the lines of this call only: read all of them, once.
		p.line, p.block, p.count = 0, 0, 0
		n, verdict = p.head(buf, req)
	}
	if verdict == nil && n > 0 {
		verdict = p.finish(buf[p.block:n], req)
	}
	switch {
	case verdict != nil:
		return 0, p.fail(verdict)
	case n == 0:
		return 0, p.starve(buf)
	}
	p.line, p.block, p.scan, p.count = 0, 0, 0, 0
	return n, nil
}

// head judges line after line from p.line on. It returns the end of the head, or 0 if that is not
// in buf yet.
func (p *Parser) head(buf []byte, req *Request) (int, *Error) {
	limits := p.limits()
	i, fresh := p.line, p.block == 0
	if fresh {
		at := emptyLines(buf)
		end, err := req.requestLine(buf, at)
		if err != nil || end == 0 {
			return 0, lineVerdict(buf, at, limits, err)
		}
		if end-at-len("\r\n") > limits.line() {
			return 0, errLineLong
		}
		p.line, p.block = end, end
		if n := req.again(buf[end:], limits); n > 0 {
			return end + n, nil
		}
		i = end
	}
	req.clear()
	block, before, most := buf[p.block:], p.count, limits.fields()
	last := limits.header()
	i -= p.block
	for {
		if i+1 < len(block) && block[i] == '\r' && block[i+1] == '\n' {
			if i+2 > last {
				return 0, errHeaderLong
			}
			if fresh { // req holds all of it
				req.remember(buf[emptyLines(buf):p.block+i+2], i+2)
			}
			return p.block + i + 2, nil
		}
		end, err := req.field(block, i, false)
		if err != nil || end == 0 {
			p.line, p.count = p.block+i, before+req.count
			return 0, blockVerdict(block, i, last, err)
		}
		if end > last {
			return 0, errHeaderLong
		}
		if before+req.count > most {
			return 0, errFields
		}
		i = end
	}
}

// lineVerdict judges a request line that did not parse: nothing while it is incomplete (starve
// looks after its length), too long before wrong otherwise.
func lineVerdict(buf []byte, at int, limits *Limits, err *Error) *Error {
	lf := bytes.IndexByte(buf[at:], '\n')
	switch {
	case lf < 0:
		return nil
	case len(bytes.TrimSuffix(buf[at:at+lf], cr)) > limits.line():
		return errLineLong
	}
	return err
}

// blockVerdict does the same for the line at i of a block that must end by last.
func blockVerdict(buf []byte, i, last int, err *Error) *Error {
	lf := bytes.IndexByte(buf[i:], '\n')
	switch {
	case lf < 0:
		return nil
	case i+lf+1 > last:
		return errHeaderLong
	}
	return err
}

// starve notes that buf holds no further LF, and enforces the limits on an incomplete head.
func (p *Parser) starve(buf []byte) error {
	p.scan = len(buf)
	limits := p.limits()
	var err *Error
	if p.block > 0 {
		if len(buf) > p.block+limits.header() {
			err = errHeaderLong
		}
	} else if len(bytes.TrimSuffix(buf[emptyLines(buf):], cr)) > limits.line() {
		err = errLineLong
	}
	if err != nil {
		return p.fail(err)
	}
	return nil
}

var cr = []byte{'\r'}

// emptyLines is where the request line starts.
func emptyLines(buf []byte) int {
	i := 0
	for i < 2*maxEmptyLines && i+1 < len(buf) && buf[i] == '\r' && buf[i+1] == '\n' {
		i += 2
	}
	return i
}

func (p *Parser) limits() *Limits {
	if p.Limits == nil {
		return &defaults
	}
	return p.Limits
}

func (p *Parser) fail(err *Error) error {
	p.state, p.err = failed, err
	return err
}

func (p *Parser) misplaced() error {
	if p.state == failed {
		return p.err
	}
	return p.fail(errBodyPending)
}
