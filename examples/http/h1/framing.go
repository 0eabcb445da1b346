package h1

import (
	"bytes"
	"math"
)

// framing gathers, field by field, what decides where a message ends and whether the connection
// lives. It is judged once the head is complete, since any line may still overturn an earlier one.
type framing struct {
	host, length   field // the last of each
	hosts, lengths uint32
	hostOK         bool // the only host is well-formed

	codings     uint32 // transfer codings listed, over all lines
	chunked     uint32 // how many of them are chunked
	chunkedLast bool   // the last one is
	badCoding   bool   // some list element is not a token

	close, keepAlive     bool // Connection lists it
	continues, expectBad bool // Expect lists 100-continue; something else
}

// coding notes a Transfer-Encoding line.
func (f *framing) coding(list []byte) {
	for more := true; more; {
		var name []byte
		name, list, more = nextElement(list)
		f.codings++
		f.chunkedLast = equalFold(name, "chunked")
		if f.chunkedLast {
			f.chunked++
		} else if len(name) == 0 || !allOf(name, tokenByte) {
			f.badCoding = true
		}
	}
}

// connection notes a Connection line. Options other than these two do not concern a server that
// forwards nothing.
func (f *framing) connection(list []byte) {
	for more := true; more; {
		var option []byte
		option, list, more = nextElement(list)
		f.close = f.close || equalFold(option, "close")
		f.keepAlive = f.keepAlive || equalFold(option, "keep-alive")
	}
}

// expect notes an Expect line.
func (f *framing) expect(list []byte) {
	for more := true; more; {
		var what []byte
		what, list, more = nextElement(list)
		if equalFold(what, "100-continue") {
			f.continues = true
		} else {
			f.expectBad = true
		}
	}
}

// nextElement cuts the first element off a comma-separated list.
func nextElement(list []byte) (element, rest []byte, more bool) {
	i := bytes.IndexByte(list, ',')
	if i < 0 {
		return trim(list), nil, false
	}
	return trim(list[:i]), list[i+1:], true
}

// finish checks the complete head, whose header block it is given, and prepares the parser for the
// body.
func (p *Parser) finish(block []byte, req *Request) *Error {
	req.head = block
	f := &req.framing
	if err := req.hostOf(block); err != nil {
		return err
	}
	req.KeepAlive = !f.close && (req.Minor == 1 || f.keepAlive)
	req.ContentLength, req.Chunked, req.ExpectContinue = -1, false, false
	if f.codings|f.lengths == 0 && !f.expectBad {
		return nil
	}
	if err := req.codingOf(); err != nil {
		return err
	}
	n, err := req.lengthOf()
	switch {
	case err != nil:
		return err
	case n > p.limits().body():
		return errBodyLarge
	}
	req.ContentLength = n
	if req.Minor == 1 {
		if f.expectBad {
			return errExpect
		}
		req.ExpectContinue = f.continues && req.HasBody()
	}
	switch {
	case req.Chunked:
		p.startChunk()
		p.total, p.ext = 0, 0
	case req.ContentLength > 0:
		p.state, p.left = inBody, req.ContentLength
	}
	return nil
}

// hostOf checks Host and, unless the target brought an authority, takes it over.
func (r *Request) hostOf(head []byte) *Error {
	f := &r.framing
	if f.hosts != 1 {
		switch {
		case f.hosts > 1:
			return errHostMany
		case r.Minor == 1:
			return errHostNone
		}
		return nil
	}
	value := head[f.host.value:f.host.valueEnd:f.host.valueEnd]
	if !f.hostOK {
		if _, f.hostOK = authority(value); !f.hostOK {
			return errHost
		}
	}
	if r.Host == nil {
		r.Host = value
	}
	return nil
}

// codingOf judges Transfer-Encoding.
func (r *Request) codingOf() *Error {
	f := &r.framing
	switch {
	case f.codings == 0:
		return nil
	case r.Minor == 0:
		return errTEVersion
	case f.badCoding || f.chunked != 1 || !f.chunkedLast:
		return errTE
	case f.codings > 1:
		return errCoding
	}
	r.Chunked = true
	return nil
}

// lengthOf judges Content-Length; -1: there is none.
func (r *Request) lengthOf() (int64, *Error) {
	f := &r.framing
	if f.lengths == 0 {
		return -1, nil
	}
	n, ok := decimal(r.head[f.length.value:f.length.valueEnd])
	switch {
	case f.lengths > 1:
		return 0, errLengthMany
	case f.codings > 0:
		return 0, errLengthAndTE
	case !ok:
		return 0, errLength
	}
	return n, nil
}

// decimal reads digits and nothing else.
func decimal(b []byte) (n int64, ok bool) {
	if len(b) == 0 {
		return 0, false
	}
	for _, c := range b {
		if classes[c]&digitByte == 0 || n > (math.MaxInt64-int64(c-'0'))/10 {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}
