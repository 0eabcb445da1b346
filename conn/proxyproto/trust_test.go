package proxyproto_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn/proxyproto"
)

func TestOnlyTrustedSourcesAreBelieved(t *testing.T) {
	tcp := func(s string) net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(s)) }
	trust := proxyproto.Trust{Sources: []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("fe80::/64"),
		netip.MustParsePrefix("::ffff:192.0.2.0/120"),
	}}
	for _, c := range []struct {
		remote net.Addr
		want   bool
	}{
		{tcp("10.1.2.3:4"), true}, {tcp("[::ffff:10.1.2.3]:4"), true}, {tcp("11.1.2.3:4"), false},
		{tcp("[2001:db8::1]:4"), true}, {tcp("[2001:db9::1]:4"), false}, {tcp("[fe80::1%eth0]:4"), true},
		{tcp("192.0.2.7:4"), true}, {tcp("[::ffff:192.0.2.7]:4"), true}, {tcp("192.0.3.7:4"), false},
		{&net.UDPAddr{IP: net.IPv4(10, 1, 2, 3)}, true}, {&net.TCPAddr{}, false}, {nil, false},
		{&net.UnixAddr{Name: "10.1.2.3"}, false}, {&net.IPAddr{IP: net.IPv4(10, 1, 2, 3)}, false},
	} {
		trusted, untrusted := proxyproto.Reject, proxyproto.Reject
		if c.want {
			trusted = proxyproto.Require
		}
		trust.PassUntrusted = false
		require.Equal(t, trusted, trust.For(c.remote), "%v", c.remote)
		trust.PassUntrusted, untrusted = true, proxyproto.Ignore
		if c.want {
			untrusted = proxyproto.Require
		}
		require.Equal(t, untrusted, trust.For(c.remote), "%v", c.remote)
	}
	trust.Unix, trust.Policy = true, proxyproto.Optional
	require.Equal(t, proxyproto.Optional, trust.For(&net.UnixAddr{Name: "@"}))
	require.Equal(t, proxyproto.Optional, trust.For(tcp("10.1.2.3:4")))
	var nobody proxyproto.Trust
	require.Equal(t, proxyproto.Reject, nobody.For(tcp("127.0.0.1:1")))
	require.Equal(t, proxyproto.Reject, nobody.For(&net.UnixAddr{}))
}

func TestPolicies(t *testing.T) {
	const header, client, broken = "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n", "POST / HTTP/1.1\r\n", "PROXY TCP4 01"
	var trust proxyproto.Trust
	for _, c := range []struct {
		policy  proxyproto.Policy
		in      string
		n       int
		version int
		err     error
	}{
		{proxyproto.Require, header + client, len(header), 1, nil},
		{proxyproto.Require, client, 0, 0, proxyproto.ErrNoHeader},
		{proxyproto.Require, broken, 0, 0, proxyproto.ErrMalformed},
		{proxyproto.Require, "P", 15, 0, proxyproto.ErrIncomplete},
		{proxyproto.Optional, header + client, len(header), 1, nil},
		{proxyproto.Optional, client, 0, 0, nil},
		{proxyproto.Optional, "PO", 0, 0, nil},
		{proxyproto.Optional, broken, 0, 0, proxyproto.ErrMalformed},
		{proxyproto.Optional, "P", 15, 0, proxyproto.ErrIncomplete},
		{proxyproto.Optional, "", 15, 0, proxyproto.ErrIncomplete},
		{proxyproto.Ignore, header, 0, 0, nil},
		{proxyproto.Ignore, "", 0, 0, nil},
		{proxyproto.Reject, header, 0, 0, proxyproto.ErrUntrusted},
		{proxyproto.Policy(9), header, 0, 0, proxyproto.ErrUntrusted},
	} {
		h, n, err := trust.Parse(c.policy, []byte(c.in))
		require.ErrorIs(t, err, c.err, "%v %q", c.policy, c.in)
		require.Equal(t, c.n, n, "%v %q", c.policy, c.in)
		require.Equal(t, c.version, h.Version)
	}
	trust.Parser.Max = 20
	_, _, err := trust.Parse(proxyproto.Require, []byte(header))
	require.ErrorIs(t, err, proxyproto.ErrTooLong)
}

func TestNames(t *testing.T) {
	require.Equal(t, "optional", proxyproto.Optional.String())
	require.Equal(t, "require", proxyproto.Require.String())
	require.Equal(t, "ignore", proxyproto.Ignore.String())
	require.Equal(t, "reject", proxyproto.Reject.String())
	require.Equal(t, "PROXY", proxyproto.Proxy.String())
	require.Equal(t, "LOCAL", proxyproto.Local.String())
	for tr, want := range map[proxyproto.Transport]string{0: "UNSPEC", 0x11: "TCP4", 0x12: "UDP4", 0x21: "TCP6",
		0x22: "UDP6", 0x31: "UNIX_STREAM", 0x32: "UNIX_DGRAM", 0x33: "unknown transport"} {
		require.Equal(t, want, tr.String())
	}
}
