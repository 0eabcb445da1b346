package proxy

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// Sessions of a flood, to which nothing is answered, make room; those of peers that are there stay.
func TestSessionsWithoutAnAnswerMakeRoom(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		up := listenPackets(t, "127.0.0.1:0")
		f := start(t, backend, packetText("udp = {max_sessions = 4}", up.LocalAddr().String()))
		honest := f.packets()
		require.True(t, insist(honest, "hello"))
		up.silent.Store(true)
		const flood = 40
		for i := range flood {
			_, err := f.packets().Write([]byte("x"))
			require.NoError(t, err)
			conntest.Eventually(t, func() bool { return f.route().Accepted == uint64(i+2) }, func() string { return fmt.Sprintf("%+v", f.route()) })
		}
		conntest.Eventually(t, func() bool { return f.route().Active == 4 })
		require.EqualValues(t, flood-3, f.route().Evicted)
		require.Zero(t, f.route().Refused)
		up.silent.Store(false)
		require.True(t, insist(honest, "again"))
		require.EqualValues(t, flood+1, f.route().Accepted, "the session of before")
	})
}

// When all have answers nobody makes room.
func TestSessionsWithAnswersStay(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		up := listenPackets(t, "127.0.0.1:0")
		f := start(t, backend, packetText("udp = {max_sessions = 2}", up.LocalAddr().String()))
		for range 2 {
			require.True(t, insist(f.packets(), "hello"))
		}
		_, err := f.packets().Write([]byte("x"))
		require.NoError(t, err)
		conntest.Eventually(t, func() bool { return f.route().Refused == 1 })
		require.Zero(t, f.route().Evicted)
	})
}

// An upstream that answers a lot to little does not multiply what a forger sends.
func TestRepliesAreBoundedByWhatWasAsked(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		const many = 20
		pc, err := net.ListenPacket("udp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { _ = pc.Close() })
		go func() {
			p := make([]byte, 100)
			for {
				_, from, err := pc.ReadFrom(p)
				if err != nil {
					return
				}
				for range many {
					_, _ = pc.WriteTo([]byte("reply"), from)
				}
			}
		}()
		f := start(t, backend, packetText("udp = {max_replies = 3}", pc.LocalAddr().String()))
		c := f.packets()
		for i := range 2 {
			_, err := c.Write([]byte("ask"))
			require.NoError(t, err)
			conntest.Eventually(t, func() bool { return f.route().Dropped == uint64((i+1)*(many-3)) })
		}
		_ = c.SetReadDeadline(time.Now().Add(conntest.Patience))
		for range 6 {
			_, err := c.Read(make([]byte, 100))
			require.NoError(t, err)
		}
	})
}
