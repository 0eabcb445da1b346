package hello

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A script is a connection whose peer has sent these bytes and nothing else.
type script struct {
	io.Reader
	net.Conn
}

func (s script) Read(p []byte) (int, error)    { return s.Reader.Read(p) }
func (script) Write(p []byte) (int, error)     { return len(p), nil }
func (script) Close() error                    { return nil }
func (script) SetDeadline(time.Time) error     { return nil }
func (script) SetReadDeadline(time.Time) error { return nil }

// accepted reports whether crypto/tls takes p for a stream that begins with a ClientHello, and the
// name that this asks for.
func accepted(p []byte) (name string, ok bool) {
	stop := errors.New("enough")
	_ = tls.Server(script{Reader: bytes.NewReader(p)}, &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		name, ok = h.ServerName, true
		return nil, stop
	}}).Handshake()
	return name, ok
}

// plain reports whether all records are such as clients send them. crypto/tls tolerates empty ones,
// alerts, and any version below 16.
func plain(p []byte) bool {
	for len(p) >= 5 {
		n := int(p[3])<<8 | int(p[4])
		if p[0] != 22 || p[1] != 3 || p[2] > 4 || n == 0 || n > 16<<10 {
			return false
		}
		p = p[5+min(n, len(p)-5):]
	}
	return true
}

// printable reports whether it could be the name of a host.
func printable(name string) bool {
	return len(name) <= 255 && !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' })
}

// compare fails unless ServerName and crypto/tls agree on p: whatever crypto/tls accepts has the
// same name here, since the route of a name must not be taken by a ClientHello with another.
func compare(t testing.TB, p []byte) (agreed bool) {
	t.Helper()
	ours, err := ServerName(p)
	theirs, ok := accepted(p)
	switch {
	case !ok: // they may know more reasons to refuse
		return false
	case err == nil && !strings.EqualFold(ours, theirs):
		t.Fatalf("ServerName is %q, that of crypto/tls %q: %x", ours, theirs, p)
	case err != nil && plain(p) && printable(theirs) && len(p) < Max:
		t.Fatalf("%v, but crypto/tls accepts it with the name %q: %x", err, theirs, p)
	}
	return err == nil
}

// extend puts one more extension at the end of a ClientHello of one record, or of a name list at
// the end of server_name.
func extend(p []byte, kind int, data []byte) []byte {
	q := bytes.Clone(p)
	q = append(q, byte(kind>>8), byte(kind), byte(len(data)>>8), byte(len(data)))
	q = append(q, data...)
	more := 4 + len(data)
	at := 5 + 4 + 2 + 32
	at += 1 + int(q[at])
	at += 2 + int(q[at])<<8 + int(q[at+1])
	at += 1 + int(q[at])
	for _, f := range []struct{ at, size int }{{3, 2}, {6, 3}, {at, 2}} {
		n := more
		for i := f.size - 1; i >= 0; i-- {
			n += int(q[f.at+i])
			q[f.at+i] = byte(n)
			n >>= 8
		}
	}
	return q
}

// list is the data of server_name with these entries.
func list(entries ...string) []byte {
	var names []byte
	for i := 0; i < len(entries); i += 2 {
		names = append(append(names, entries[i]...), byte(len(entries[i+1])>>8), byte(len(entries[i+1])))
		names = append(names, entries[i+1]...)
	}
	return append([]byte{byte(len(names) >> 8), byte(len(names))}, names...)
}

func TestTheNameIsThatOfCryptoTLS(t *testing.T) {
	none := capture(t, "")
	for text, data := range map[string][]byte{
		"one name":                list("\x00", "a.example"),
		"capitals":                list("\x00", "A.eXample"),
		"another kind before":     list("\x07", "xyz", "\x00", "a.example"),
		"another kind after":      list("\x00", "a.example", "\x07", "xyz"),
		"only another kind":       list("\x07", "xyz"),
		"two names":               list("\x00", "a.example", "\x00", "b.example"),
		"an empty name":           list("\x00", ""),
		"an empty list":           list(),
		"a dot at the end":        list("\x00", "a.example."),
		"an address":              list("\x00", "192.0.2.1"),
		"bytes after the list":    append(list("\x00", "a.example"), 0),
		"a list that is cut":      list("\x00", "a.example")[:5],
		"a NUL within":            list("\x00", "a\x00b"),
		"a name of 300 bytes":     list("\x00", strings.Repeat("a", 300)),
		"nothing":                 nil,
		"a length that overflows": {0xff, 0xff, 0, 0, 1, 'a'},
	} {
		p := extend(none, 0, data)
		agreed := compare(t, p)
		if text == "one name" || strings.HasPrefix(text, "another kind") {
			require.True(t, agreed, text)
		}
		compare(t, cut(p, 3))
		compare(t, extend(p, 0, list("\x00", "second.example")))
		compare(t, extend(p, 0xfe0d, data))
	}
}

// Bytes are changed, removed, put in and cut into records at random.
func TestTheNameIsThatOfCryptoTLSWhateverIsDamaged(t *testing.T) {
	seed, err := strconv.ParseUint(os.Getenv("SUIRO_HELLO_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	t.Logf("repeat it with SUIRO_HELLO_SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	none := capture(t, "")
	from := [][]byte{none, capture(t, "a.example"), extend(none, 0, list("\x05", "x", "\x00", "b.example")), extend(none, 0, list("\x00", "c.example"))}
	agreed := 0
	for range 20000 {
		p := bytes.Clone(from[r.IntN(len(from))])
		for range r.IntN(4) {
			i := r.IntN(len(p))
			if r.IntN(2) == 0 {
				i = max(0, len(p)-1-r.IntN(60))
			}
			switch r.IntN(4) {
			case 0:
				p[i] ^= 1 << r.IntN(8)
			case 1:
				p[i] = byte(r.Uint32())
			case 2:
				p = append(p[:i], p[i+1:]...)
			default:
				p = append(p[:i], append([]byte{byte(r.Uint32())}, p[i:]...)...)
			}
		}
		if r.IntN(3) == 0 && len(p) > 5 {
			p = cut(p, 1+r.IntN(len(p)))
		}
		if compare(t, p) {
			agreed++
		}
	}
	require.Greater(t, agreed, 2000, "so few were accepted by both that nothing was compared")
}

func FuzzAgainstCryptoTLS(f *testing.F) {
	none := capture(f, "")
	f.Add(none)
	f.Add(capture(f, "fuzz.example"))
	f.Add(extend(none, 0, list("\x05", "x", "\x00", "b.example")))
	f.Add(cut(none, 100))
	f.Fuzz(func(t *testing.T, p []byte) { compare(t, p) })
}
