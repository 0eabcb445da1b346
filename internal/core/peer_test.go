package core

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/engine"
)

func TestAPeersAddressIsKeptAsItIs(t *testing.T) {
	for _, addr := range []string{"127.0.0.1", "0.0.0.0", "255.255.255.255", "::", "::1", "2001:db8::7", "fe80::1%eth0", "64:ff9b::7f00:1", "ff02::1", "ff02::1%eth0"} {
		var c Conn
		c.SetPeer(netip.AddrPortFrom(netip.MustParseAddr(addr), 443))
		require.Equal(t, netip.MustParseAddr(addr), c.Peer())
		require.EqualValues(t, 443, c.Port)
		require.False(t, c.local(), addr)
	}
	var c Conn
	require.True(t, c.local(), "nothing was said of a Unix socket's")
	require.Equal(t, netip.Addr{}, c.Peer())
	c.SetPeer(netip.AddrPort{})
	require.False(t, c.local())
	require.Equal(t, netip.IPv6Unspecified(), c.Peer(), "it is not known")
	c.SetPeer(netip.MustParseAddrPort("[::ffff:192.0.2.1]:1"))
	require.Equal(t, netip.MustParseAddr("192.0.2.1"), c.Peer())
}

// The winner of a race is another address than the first, perhaps without a zone.
func TestAPeersZoneGoesWithIt(t *testing.T) {
	var c Conn
	c.SetPeer(netip.MustParseAddrPort("[fe80::1%eth0]:1"))
	c.SetPeer(netip.MustParseAddrPort("[fe80::2]:1"))
	require.Equal(t, netip.MustParseAddr("fe80::2"), c.Peer())
}

func TestAMarkTellsWhoseAndWhen(t *testing.T) {
	var origins engine.Origins
	origins.Use(engine.OriginKey{Port: "1"}, 1)
	from := origins.Use(engine.OriginKey{Port: "2"}, 1)
	for _, at := range []time.Duration{0, time.Microsecond, time.Hour, 300 * 24 * time.Hour} {
		m := markOf(from, at)
		require.Equal(t, at, m.began())
		require.Same(t, from, origins.Numbered(m.origin))
	}
	require.Nil(t, origins.Numbered(markOf(nil, 0).origin))
}
