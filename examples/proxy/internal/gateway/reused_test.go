package gateway

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/examples/proxy/internal/upstream"
)

// A broken is a tape that takes n bytes of each write, and fails.
type broken struct {
	tape
	n int
}

func (b *broken) Write(p []byte) (int, error) { return min(b.n, len(p)), errors.New("broken") }
func (b *broken) Close() error                { return nil }

// A request may be repeated, whatever it is, if no byte of it was sent: its body is still there.
func TestARequestWasAskedOnceAByteOfItWasSent(t *testing.T) {
	for n, want := range map[int]error{0: errUnasked, 1: errGone} {
		k, _ := onTape([]byte("body"), 4)
		x := exchange{client: k, method: "POST", body: true, head: []byte("POST / HTTP/1.1\r\n"), hosted: true, up: new(upstream.Upstream)}
		l := &lease{conn: &broken{n: n}, socket: conn.NewSocket()}
		_, err := x.on(l)
		require.Equal(t, want, err)
		require.False(t, stale(l, err), "it was a new connection")
		l.reused = true
		require.True(t, stale(l, err))
		require.False(t, stale(l, errSilent))
		rest, err := io.ReadAll(k.conn)
		require.NoError(t, err)
		require.Equal(t, "body", string(rest))
	}
}

func TestAConnectionIsForgottenWhenItEnds(t *testing.T) {
	var s handles
	var h conn.Handle
	require.False(t, s.has(h))
	require.True(t, s.add(h))
	require.False(t, s.add(h))
	require.True(t, s.has(h))
	s.remove(h)
	require.False(t, s.has(h))
}
