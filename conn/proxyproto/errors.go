package proxyproto

import (
	"errors"
	"fmt"
)

var (
	// ErrIncomplete is no failure: all bytes so far can begin a header.
	ErrIncomplete = errors.New("proxyproto: incomplete: more bytes are needed")

	// ErrNoHeader is a stream that does not begin as a header does. The bytes
	// may be those of a client that came past the proxy.
	ErrNoHeader = errors.New("proxyproto: no header")

	// ErrMalformed is a stream that begins as a header does and goes on in a
	// way that no header does. Close the connection.
	ErrMalformed = errors.New("proxyproto: malformed header")

	// ErrChecksum is a header whose CRC32C is not right. It matches
	// ErrMalformed.
	ErrChecksum = fmt.Errorf("%w: wrong CRC32C", ErrMalformed)

	// ErrTooLong is a header longer than Parser.Max. It matches ErrMalformed.
	ErrTooLong = fmt.Errorf("%w: too long", ErrMalformed)

	// ErrUntrusted is a connection from none of the trusted sources.
	ErrUntrusted = errors.New("proxyproto: connection from an untrusted source")

	// ErrHeader is a Header that cannot be written.
	ErrHeader = errors.New("proxyproto: header cannot be written")
)

// A ParseError says where a header went wrong. It matches ErrNoHeader or
// ErrMalformed.
type ParseError struct {
	Offset int    // of the byte that shows it, from 0
	Reason string // fixed text, never the sender's bytes
	Err    error  // ErrNoHeader, ErrMalformed, ErrChecksum or ErrTooLong
}

func (e *ParseError) Error() string {
	return fmt.Sprintf("%v: %s (byte %d)", e.Err, e.Reason, e.Offset)
}

// Unwrap is Err.
func (e *ParseError) Unwrap() error { return e.Err }

func malformed(at int, reason string) error {
	return &ParseError{Offset: at, Reason: reason, Err: ErrMalformed}
}

func tooLong(at int) error {
	return &ParseError{Offset: at, Reason: "the header will not end within the limit", Err: ErrTooLong}
}
