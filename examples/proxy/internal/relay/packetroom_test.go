package relay

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/examples/proxy/internal/config"
	"github.com/suiro-go/suiro/examples/proxy/internal/route"
)

func TestSessionsOfANetworkOfIPv6ShareABound(t *testing.T) {
	r := &route.Route{Route: &config.Route{UDP: config.UDP{MaxPerSource: 1}}}
	c := crowd{}
	enter := func(a string) bool { return c.enter(netip.MustParseAddr(a), r) }
	require.True(t, enter("2001:db8:1:2::1"))
	require.False(t, enter("2001:db8:1:2:ffff::2"))
	require.True(t, enter("2001:db8:1:3::1"))
	require.True(t, enter("192.0.2.1"))
	require.True(t, enter("192.0.2.2"))
	require.False(t, enter("::ffff:192.0.2.2"))
	c.leave(netip.MustParseAddr("2001:db8:1:2::3"))
	require.True(t, enter("2001:db8:1:2:ffff::2"))
}

func TestASourceOfDatagramsHasAQuarterOfTheSessionsByDefault(t *testing.T) {
	r := &route.Route{Route: &config.Route{}}
	require.Equal(t, 65536, most(r))
	require.Equal(t, 16384, mostOf(r, netip.MustParseAddr("192.0.2.1")))
	require.Zero(t, mostOf(r, netip.MustParseAddr("127.0.0.1")))
	r.UDP.MaxPerSource = -1
	require.Zero(t, mostOf(r, netip.MustParseAddr("192.0.2.1")))
}
