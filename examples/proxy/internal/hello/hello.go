// Package hello reads the server name out of a TLS ClientHello, without terminating TLS:
// bytes in, a name out, as often as more bytes have come. It is bounded, allocates nothing
// but the name, and looks at nothing behind the ClientHello.
package hello

import (
	"encoding/binary"
	"errors"
	"strings"
)

// Max is the longest ClientHello that is looked at, with the records around it.
const Max = 32 << 10

var (
	// ErrIncomplete is no failure: all bytes so far can begin a ClientHello.
	ErrIncomplete = errors.New("hello: incomplete: more bytes are needed")

	// ErrNotTLS is a stream that does not begin with a ClientHello, or not with one that
	// is well formed (RFC 8446, 4.1.2), or with one that is longer than Max.
	ErrNotTLS = errors.New("hello: no ClientHello")
)

// ServerName is the name that the ClientHello at the beginning of b asks for, in lower case and
// without a final dot; "" if it asks for none. Its errors are the two above.
func ServerName(b []byte) (string, error) {
	body, err := handshake(b)
	if err != nil {
		return "", err
	}
	s := reader(body)
	s.skip(2 + 32)               // version, random
	s.skip(int(s.number(1)))     // session
	s.skip(int(s.number(2)))     // cipher suites
	s.skip(int(s.number(1)))     // compression
	if s != nil && len(s) == 0 { // no extensions
		return "", nil
	}
	extensions := s.take(int(s.number(2)))
	if extensions == nil || len(s) != 0 {
		return "", ErrNotTLS
	}
	name, seen := "", false
	for len(extensions) > 0 {
		kind := extensions.number(2)
		data := extensions.take(int(extensions.number(2)))
		if data == nil {
			return "", ErrNotTLS
		}
		if kind != 0 {
			continue
		}
		if seen {
			return "", ErrNotTLS
		}
		if name, seen = hostName(data); !seen {
			return "", ErrNotTLS
		}
	}
	return name, nil
}

// hostName reads the extension server_name (RFC 6066, 3), whose list has at most one entry that is
// the name of a host. Entries of other kinds are passed over, as crypto/tls does.
func hostName(data reader) (name string, ok bool) {
	list := data.take(int(data.number(2)))
	if len(list) == 0 || len(data) != 0 {
		return "", false
	}
	for len(list) > 0 {
		kind := list.number(1)
		entry := list.take(int(list.number(2)))
		switch {
		case len(entry) == 0:
			return "", false
		case kind != 0:
			continue
		case name != "" || len(entry) > 255:
			return "", false
		}
		for _, c := range entry {
			if c <= ' ' || c > '~' {
				return "", false
			}
		}
		name = string(entry)
	}
	return strings.TrimSuffix(strings.ToLower(name), "."), true
}

// handshake is the ClientHello's body, put together if it lies in several records.
func handshake(b []byte) ([]byte, error) {
	const record, header = 5, 4
	var whole []byte // of more than one record
	for at, first := 0, true; ; first = false {
		rest := b[at:]
		for i, ok := range [...]func(byte) bool{
			func(c byte) bool { return c == 22 }, func(c byte) bool { return c == 3 }, func(c byte) bool { return c <= 4 },
		} {
			if i < len(rest) && !ok(rest[i]) {
				return nil, ErrNotTLS
			}
		}
		if len(rest) < record {
			return nil, incomplete(b)
		}
		n := int(binary.BigEndian.Uint16(rest[3:]))
		if n == 0 || n > 16<<10 {
			return nil, ErrNotTLS
		}
		piece := rest[record:min(len(rest), record+n)]
		if first {
			whole = piece[:len(piece):len(piece)]
		} else {
			whole = append(whole, piece...)
		}
		if len(whole) > 0 && whole[0] != 1 {
			return nil, ErrNotTLS
		}
		if len(whole) >= header {
			size := int(whole[1])<<16 | int(whole[2])<<8 | int(whole[3])
			switch {
			case size > Max:
				return nil, ErrNotTLS
			case len(whole) >= header+size:
				return whole[header : header+size], nil
			}
		}
		if len(piece) < n {
			return nil, incomplete(b)
		}
		at += record + n
	}
}

func incomplete(b []byte) error {
	if len(b) >= Max {
		return ErrNotTLS
	}
	return ErrIncomplete
}

// A reader has the bytes that are not read yet; nil when something was missing.
type reader []byte

func (r *reader) take(n int) reader {
	if *r == nil || n > len(*r) {
		*r = nil
		return nil
	}
	p := (*r)[:n:n]
	*r = (*r)[n:]
	return p
}

func (r *reader) skip(n int) { _ = r.take(n) }

func (r *reader) number(bytes int) (n uint) {
	for _, c := range r.take(bytes) {
		n = n<<8 | uint(c)
	}
	return n
}
