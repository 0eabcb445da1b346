package limit

import (
	"net/netip"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	one   = netip.MustParseAddr("192.0.2.1")
	two   = netip.MustParseAddr("192.0.2.2")
	local = netip.MustParseAddr("127.0.0.1")
)

func TestTheBoundOfAllCountsUntilTheEnd(t *testing.T) {
	d := new(Door)
	d.Set(Bounds{Most: 2})
	a, b := d.Enter(), d.Enter()
	require.NotNil(t, a)
	require.NotNil(t, b)
	a.Arrive()
	require.Nil(t, d.Enter())
	require.EqualValues(t, 1, d.OverAll.Load())
	b.Leave()
	require.NotNil(t, d.Enter())
	require.Nil(t, d.Enter())
	require.EqualValues(t, 1, d.Junk.Load(), "b never arrived")
}

func TestASourceIsANetworkOfIPv6(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::", "fe80::1%eth0": "fe80::",
	} {
		require.Equal(t, netip.MustParseAddr(want), Source(netip.MustParseAddr(text)), text)
	}
	require.False(t, Source(netip.Addr{}).IsValid())
}

func TestASourceHasItsOwnBound(t *testing.T) {
	d := new(Door)
	d.Set(Bounds{PerSource: 1, Local: true})
	a, b := d.Enter(), d.Enter()
	require.True(t, a.Identify(one))
	require.False(t, b.Identify(one))
	require.True(t, b.Identify(two))
	require.True(t, a.Identify(local), "a PROXY header may name another client than the peer")
	require.True(t, d.Enter().Identify(one), "whose place is free then")
	a.Leave()
	b.Leave()
	require.Len(t, d.sources, 1)
	require.EqualValues(t, 1, d.OverSource.Load())

	d.Set(Bounds{PerSource: 1})
	require.True(t, d.Enter().Identify(local))
	require.True(t, d.Enter().Identify(local))
	require.True(t, d.Enter().Identify(netip.Addr{}), "a Unix socket has no address")
}

func TestThoseWhoWaitAreCounted(t *testing.T) {
	var d Door
	var n atomic.Int64
	a, b := d.Enter(), d.Enter()
	require.EqualValues(t, 1, a.Wait(&n))
	require.EqualValues(t, 2, b.Wait(&n))
	a.Arrive()
	a.Leave()
	require.EqualValues(t, 1, n.Load())
	b.Leave()
	require.Zero(t, n.Load())
	require.Zero(t, d.Live())
	require.EqualValues(t, 1, d.Junk.Load())
}

func TestDefaultsFollowTheDescriptors(t *testing.T) {
	b := Defaults(0, 0)
	require.Positive(t, b.Most)
	require.LessOrEqual(t, 2*b.Most, descriptors())
	require.Equal(t, int(max(b.Most/2, 1)), b.PerSource)
	require.False(t, b.Local)
	require.Equal(t, Bounds{Most: 10, PerSource: 3, Local: true}, Defaults(10, 3))
	require.Equal(t, Bounds{Local: true}, Defaults(-1, -1))
	require.Equal(t, Bounds{}, Defaults(-1, 0))
	require.Equal(t, Bounds{Most: 10, PerSource: 5}, Defaults(10, 0))
}
