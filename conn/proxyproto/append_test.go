package proxyproto_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn/proxyproto"
)

func proxied(tr proxyproto.Transport, s, d string) proxyproto.Header {
	return proxyproto.Header{Command: proxyproto.Proxy, Transport: tr,
		Source: netip.MustParseAddrPort(s), Destination: netip.MustParseAddrPort(d)}
}

func TestVersion1IsWritten(t *testing.T) {
	unix := proxyproto.Header{Command: proxyproto.Proxy, Transport: proxyproto.UnixStream, SourcePath: "/a"}
	for _, c := range []struct {
		name string
		h    proxyproto.Header
		want string
	}{
		{"TCP4", proxied(proxyproto.TCP4, "192.168.0.1:56324", "192.168.0.11:443"), "PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\n"},
		{"TCP6", proxied(proxyproto.TCP6, "[2001:db8::1]:0", "[::]:65535"), "PROXY TCP6 2001:db8::1 :: 0 65535\r\n"},
		{"IPv4 in TCP6, without dots", proxied(proxyproto.TCP6, "[::ffff:192.0.2.1]:1", "[::1]:2"), "PROXY TCP6 ::ffff:c000:201 ::1 1 2\r\n"},
		{"a zone is this host's", proxied(proxyproto.TCP6, "[fe80::1%eth0]:1", "[fe80::2%eth0]:2"), "PROXY TCP6 fe80::1 fe80::2 1 2\r\n"},
		{"UDP", proxied(proxyproto.UDP4, "192.0.2.1:1", "192.0.2.2:2"), "PROXY UNKNOWN\r\n"},
		{"Unix", unix, "PROXY UNKNOWN\r\n"},
		{"UNSPEC", proxyproto.Header{Command: proxyproto.Proxy}, "PROXY UNKNOWN\r\n"},
		{"LOCAL", proxyproto.Header{}, "PROXY UNKNOWN\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := proxyproto.AppendV1([]byte("> "), &c.h)
			require.NoError(t, err)
			require.Equal(t, "> "+c.want, string(got))
			h, n, err := parse(t, proxyproto.Parser{}, got[2:])
			require.NoError(t, err)
			require.Equal(t, len(c.want), n)
			if h.Proxied() {
				require.Equal(t, c.h.Source.Addr().WithZone(""), h.Source.Addr())
				require.Equal(t, c.h.Destination.Port(), h.Destination.Port())
			}
		})
	}
}

func TestVersion2IsWritten(t *testing.T) {
	tcp4 := proxied(proxyproto.TCP4, "192.168.0.1:56324", "192.168.0.11:443")
	udp6 := proxied(proxyproto.UDP6, "[2001:db8::1]:56324", "[2001:db8::2]:443")
	valued := tcp4
	valued.TLVs = proxyproto.AppendTLV(proxyproto.AppendCRC32C(nil), proxyproto.TypeALPN, "h2")
	local := udp6
	local.Command = proxyproto.Local
	for _, c := range []struct {
		name string
		h    proxyproto.Header
		want string
	}{
		{"TCP4", tcp4, v2(0x21, 0x11, ip4)},
		{"UDP6", udp6, v2(0x21, 0x22, ip6)},
		{"LOCAL has no addresses", local, v2(0x20, 0x00, "")},
		{"UNSPEC", proxyproto.Header{Command: proxyproto.Proxy}, v2(0x21, 0x00, "")},
		{"Unix", proxyproto.Header{Command: proxyproto.Proxy, Transport: proxyproto.UnixStream, SourcePath: "@a", DestinationPath: "/b"},
			v2(0x21, 0x31, unixPath("\x00a")+unixPath("/b"))},
		{"a checksum", valued, string(withCRC(t, v2(0x21, 0x11, ip4+"\x03\x00\x04\x00\x00\x00\x00\x01\x00\x02h2")))},
	} {
		t.Run(c.name, func(t *testing.T) {
			tlvs := string(c.h.TLVs)
			got, err := proxyproto.AppendV2([]byte("> "), &c.h)
			require.NoError(t, err)
			require.Equal(t, "> "+c.want, string(got))
			require.Equal(t, tlvs, string(c.h.TLVs), "the header is only read")
		})
	}
}

func TestAHeaderThatCannotBeWritten(t *testing.T) {
	path := func(s string) proxyproto.Header {
		return proxyproto.Header{Command: proxyproto.Proxy, Transport: proxyproto.UnixStream, SourcePath: s}
	}
	with := func(tlvs proxyproto.TLVs) proxyproto.Header {
		h := proxied(proxyproto.TCP4, "192.0.2.1:1", "192.0.2.2:2")
		h.TLVs = tlvs
		return h
	}
	for name, h := range map[string]proxyproto.Header{
		"IPv6 as TCP4":        proxied(proxyproto.TCP4, "[::1]:1", "192.0.2.2:2"),
		"IPv4 as TCP6":        proxied(proxyproto.TCP6, "[::1]:1", "192.0.2.2:2"),
		"no addresses":        {Command: proxyproto.Proxy, Transport: proxyproto.UDP4},
		"no such transport":   {Command: proxyproto.Proxy, Transport: 0x13},
		"no such command":     {Command: 2},
		"a path too long":     path(strings.Repeat("x", 109)),
		"a path with a NUL":   path("a\x00b"),
		"a name ends in NUL":  path("@a\x00"),
		"a name of nothing":   path("@"),
		"values cut off":      with(proxyproto.TLVs("\x01\x00\x02h")),
		"two checksums":       with(proxyproto.AppendCRC32C(proxyproto.AppendCRC32C(nil))),
		"a long unique ID":    with(proxyproto.AppendTLV(nil, proxyproto.TypeUniqueID, make([]byte, 129))),
		"a bad SSL value":     with(proxyproto.AppendTLV(nil, proxyproto.TypeSSL, "1234")),
		"a bad value in SSL":  with(proxyproto.AppendSSL(nil, proxyproto.SSL{TLVs: proxyproto.TLVs("\x21\x00\x02x")})),
		"too much altogether": with(proxyproto.AppendTLV(nil, proxyproto.TypeNoop, make([]byte, 1<<16-3-12))),
	} {
		t.Run(name, func(t *testing.T) {
			dst, err := proxyproto.AppendV2([]byte("x"), &h)
			require.ErrorIs(t, err, proxyproto.ErrHeader)
			require.Equal(t, "x", string(dst))
			if h.TLVs == nil {
				_, err = proxyproto.AppendV1(nil, &h)
				require.ErrorIs(t, err, proxyproto.ErrHeader)
			}
		})
	}
	h := with(proxyproto.AppendTLV(nil, proxyproto.TypeNoop, make([]byte, 1<<16-1-3-12)))
	b, err := proxyproto.AppendV2(nil, &h)
	require.NoError(t, err)
	require.Len(t, b, 65551)
}
