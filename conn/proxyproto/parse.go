package proxyproto

// DefaultMax is the longest header that is read unless a Parser says otherwise,
// in bytes.
const DefaultMax = 16 << 10

// A Parser reads headers. The zero value is ready for use, by any goroutine.
type Parser struct {
	// Max is the longest header that is accepted, in bytes. One of version 2
	// can have 65,551, and has 16 at least; one of version 1 never has more
	// than 107. 0: DefaultMax.
	Max int
}

// Parse is Parser.Parse with the default limits.
func Parse(b []byte) (h Header, n int, err error) { return Parser{}.Parse(b) }

// Parse reads the header at the front of b, which is everything that has
// arrived. The error says which of three it is.
//
// nil: the header is the first n bytes of b, which are to be discarded; the
// rest is the client's. h.TLVs is a part of b.
//
// ErrIncomplete: call again when more is there, with all of it. The header takes
// n bytes or more, n > len(b).
//
// Any other, which is a *ParseError: no header begins like this. n is 0. The
// first byte that shows it is enough.
//
// It keeps no state; a call takes time proportional to what of the header is
// there, and allocates only for errors and the paths of Unix sockets.
func (p Parser) Parse(b []byte) (h Header, n int, err error) {
	limit := p.Max
	switch {
	case limit < 0:
		panic("proxyproto: Max is negative")
	case limit == 0:
		limit = DefaultMax
	}
	if len(b) == 0 {
		return Header{}, minV1, ErrIncomplete
	}
	if b[0] == magicV1[0] {
		n, err = parseV1(b, limit, &h)
	} else {
		n, err = parseV2(b, limit, &h)
	}
	if err != nil {
		return Header{}, n, err
	}
	return h, n, nil
}

// signature checks the constant beginning of a header, as far as it is there.
func signature(b []byte, magic string) error {
	for i := range min(len(b), len(magic)) {
		if b[i] != magic[i] {
			return &ParseError{Offset: i, Reason: "other bytes than a header begins with", Err: ErrNoHeader}
		}
	}
	return nil
}
