package hello

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// capture is what a client of crypto/tls says first.
func capture(t testing.TB, name string) []byte {
	t.Helper()
	a, b := net.Pipe()
	defer b.Close()
	go func() {
		_ = tls.Client(a, &tls.Config{ServerName: name, InsecureSkipVerify: true, NextProtos: []string{"h2"}}).Handshake()
		_ = a.Close()
	}()
	_ = b.SetDeadline(time.Now().Add(30 * time.Second))
	head := make([]byte, 5)
	_, err := io.ReadFull(b, head)
	require.NoError(t, err)
	rest := make([]byte, int(head[3])<<8|int(head[4]))
	_, err = io.ReadFull(b, rest)
	require.NoError(t, err)
	return append(head, rest...)
}

// cut splits a ClientHello into records of n bytes.
func cut(p []byte, n int) (all []byte) {
	body := p[5:]
	for len(body) > 0 {
		k := min(n, len(body))
		all = append(append(all, 22, 3, 1, byte(k>>8), byte(k)), body[:k]...)
		body = body[k:]
	}
	return all
}

func TestTheNameIsFoundWhereverTheBytesAreSplit(t *testing.T) {
	whole := capture(t, "A.Example.com")
	for _, p := range [][]byte{whole, cut(whole, 1), cut(whole, 50)} {
		for n := range len(p) {
			_, err := ServerName(p[:n])
			require.ErrorIs(t, err, ErrIncomplete, n)
		}
		name, err := ServerName(p)
		require.NoError(t, err)
		require.Equal(t, "a.example.com", name)
		name, err = ServerName(append(bytes.Clone(p), "what follows is not looked at"...))
		require.NoError(t, err)
		require.Equal(t, "a.example.com", name)
	}
}

func TestAHelloWithoutANameHasNone(t *testing.T) {
	name, err := ServerName(capture(t, ""))
	require.NoError(t, err)
	require.Empty(t, name)
}

// A server behind the proxy might use the other name.
func TestAHelloWithTwoNamesIsRefused(t *testing.T) {
	none := capture(t, "")
	for text, p := range map[string][]byte{
		"in one list":       extend(none, 0, list("\x00", "a.example", "\x00", "b.example")),
		"in two extensions": extend(extend(none, 0, list("\x00", "a.example")), 0, list("\x00", "b.example")),
	} {
		_, err := ServerName(p)
		require.ErrorIs(t, err, ErrNotTLS, text)
	}
}

func TestWhatIsNoHelloIsRefusedAtOnce(t *testing.T) {
	for _, p := range []string{"G", "GET / HTTP/1.1\r\n", "\x16\x02", "\x16\x03\x01\x00\x00", "\x16\x03\x01\xff\xff", "\x16\x03\x01\x00\x05\x02", "\x16\x03\x01\x00\x05\x01\xff\xff\xff"} {
		_, err := ServerName([]byte(p))
		require.ErrorIs(t, err, ErrNotTLS, "%q", p)
	}
}

func TestAHelloThatNeverEndsIsRefused(t *testing.T) {
	p := cut(append(make([]byte, 5), append([]byte{1, 0, 0x7f, 0xff}, make([]byte, 0x7fff)...)...), 1)
	_, err := ServerName(p[:Max-1])
	require.ErrorIs(t, err, ErrIncomplete)
	_, err = ServerName(p[:Max])
	require.ErrorIs(t, err, ErrNotTLS)
}

func FuzzServerName(f *testing.F) {
	whole := capture(f, "fuzz.example")
	f.Add(whole)
	f.Add(cut(whole, 7))
	f.Fuzz(func(t *testing.T, p []byte) {
		name, err := ServerName(p)
		if err != nil && name != "" {
			t.Fatal("a name beside an error")
		}
		for n := range min(len(p), 600) { // later bytes never change a verdict
			early, earlyErr := ServerName(p[:n])
			if earlyErr != ErrIncomplete && (earlyErr != err || early != name) {
				t.Fatalf("%d of %d bytes: %q %v, all: %q %v", n, len(p), early, earlyErr, name, err)
			}
		}
	})
}
