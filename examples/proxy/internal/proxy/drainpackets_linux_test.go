package proxy

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// A UDP session whose datagrams are not all answered goes on in a drain, until they are. One
// without such datagrams ends at once, and no new one begins.
func TestADrainWaitsForTheAnswersOfSessions(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		up, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		require.NoError(t, err)
		defer up.Close()
		require.NoError(t, up.SetDeadline(time.Now().Add(conntest.Patience)))
		receive := func(want string) *net.UDPAddr {
			p := make([]byte, 100)
			n, from, err := up.ReadFromUDP(p)
			require.NoError(t, err)
			require.Equal(t, want, string(p[:n]))
			return from
		}
		answer := func(to *net.UDPAddr, text string) {
			_, err := up.WriteToUDP([]byte(text), to)
			require.NoError(t, err)
		}
		f := start(t, backend, "drain_timeout = '1h'\n"+packetText("idle_timeout = '1h'", up.LocalAddr().String()))
		client := func(text string) net.Conn {
			c := f.packets()
			require.NoError(t, c.SetDeadline(time.Now().Add(conntest.Patience)))
			_, err := c.Write([]byte(text))
			require.NoError(t, err)
			return c
		}
		got := func(c net.Conn, want string) {
			p := make([]byte, 100)
			n, err := c.Read(p)
			require.NoError(t, err)
			require.Equal(t, want, string(p[:n]))
		}
		done := client("question")
		answer(receive("question"), "answer")
		got(done, "answer")
		one := client("one")
		first := receive("one")
		two := client("two")
		second := receive("two")
		_, err = two.Write([]byte("three"))
		require.NoError(t, err)
		require.Equal(t, second.String(), receive("three").String())
		late := f.packets()
		_ = late.SetDeadline(time.Now().Add(conntest.Patience))

		ended := make(chan error, 1)
		go func() { ended <- f.Shutdown(t.Context()) }()
		conntest.Eventually(t, func() bool { return f.route().Active == 2 }, "the answered session ends")
		_, err = late.Write([]byte("late"))
		require.NoError(t, err)
		conntest.Eventually(t, func() bool { return f.route().Refused == 1 }, "there is no new session")
		answer(first, "to one")
		got(one, "to one")
		conntest.Eventually(t, func() bool { return f.route().Active == 1 })
		answer(second, "to two")
		got(two, "to two")
		require.EqualValues(t, 1, f.route().Active)
		require.Empty(t, ended)
		answer(second, "to three")
		got(two, "to three")
		require.NoError(t, conntest.Receive(t, ended))
		require.NotContains(t, f.log.String(), "not ended in time")
	})
}

// In a drain nothing is waited for that cannot come: an upstream where nobody listens gives none.
func TestADrainDoesNotWaitForAnUpstreamThatRefuses(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := start(t, backend, "drain_timeout = '1h'\n"+packetText("idle_timeout = '1h'", nobody(t)))
		_, err := f.packets().Write([]byte("x"))
		require.NoError(t, err)
		conntest.Eventually(t, func() bool { return f.upstream(0).Failures == 1 }, func() string { return fmt.Sprint(f.route()) })
		ended := make(chan error, 1)
		go func() { ended <- f.Shutdown(t.Context()) }()
		require.NoError(t, conntest.Receive(t, ended))
	})
}
