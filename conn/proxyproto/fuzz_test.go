package proxyproto_test

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn/proxyproto"
)

// FuzzParse checks the parser's promises on any input: see parse. A header that was read can be
// written, and is then read as the same.
func FuzzParse(f *testing.F) {
	f.Add([]byte("PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\nGET"), uint16(0))
	f.Add([]byte("PROXY TCP6 ::ffff:1.2.3.4 1:2:3:4:5:6:7:: 0 65535\r\n"), uint16(200))
	f.Add([]byte("PROXY UNKNOWN what ever\r\n"), uint16(20))
	f.Add([]byte(v2(0x21, 0x11, ip4+"\x20\x00\x0c\x01....\x21\x00\x04TLSv\x04\x00\x00")), uint16(0))
	f.Add([]byte(v2(0x20, 0x00, "\x05\x00\x02id")), uint16(21))
	f.Add(withCRC(f, v2(0x21, 0x22, ip6+"\x03\x00\x04\x00\x00\x00\x00")), uint16(0))
	f.Add([]byte(v2(0x21, 0x31, unixPath("/a")+unixPath("\x00b")+"\x01\x00\x02h2")), uint16(0))
	f.Fuzz(func(t *testing.T, in []byte, limit uint16) {
		if len(in) > 1<<10 {
			t.Skip("every beginning is parsed")
		}
		p := proxyproto.Parser{Max: int(limit)}
		if limit > 0 {
			p.Max += 15
		}
		h, _, err := parse(t, p, in)
		if err != nil {
			return
		}
		if h.SourcePath == "@" || h.DestinationPath == "@" {
			return // a path, but written it would be an abstract name
		}
		requireIdentity(t, h)
	})
}

func requireIdentity(t testing.TB, h proxyproto.Header) {
	t.Helper()
	b, err := proxyproto.AppendV2(nil, &h)
	require.NoError(t, err)
	got, n, err := parse(t, proxyproto.Parser{Max: 1 << 17}, b)
	require.NoError(t, err)
	require.Equal(t, len(b), n)
	want := h
	want.Version = 2
	// Its checksum is now that of this header.
	if sum, ok := got.TLVs.Get(proxyproto.TypeCRC32C); ok {
		want.TLVs = bytes.Clone(want.TLVs)
		old, _ := want.TLVs.Get(proxyproto.TypeCRC32C)
		copy(old, sum)
	}
	if len(want.TLVs) == 0 {
		want.TLVs = nil
	}
	require.Equal(t, want, got)

	b, err = proxyproto.AppendV1(nil, &h)
	require.NoError(t, err)
	got, n, err = parse(t, proxyproto.Parser{}, b)
	require.NoError(t, err)
	require.Equal(t, len(b), n)
	want = proxyproto.Header{Version: 1, Command: proxyproto.Proxy}
	if h.Transport == proxyproto.TCP4 || h.Transport == proxyproto.TCP6 {
		want.Transport, want.Source, want.Destination = h.Transport, h.Source, h.Destination
	}
	require.Equal(t, want, got)
}

// FuzzAppend: a header that can be written is read as it was.
func FuzzAppend(f *testing.F) {
	f.Add(uint8(0x11), []byte(ip4), "", "", []byte("\x01\x00\x02h2"), true)
	f.Add(uint8(0x21), []byte(ip6), "", "", []byte(nil), false)
	f.Add(uint8(0x31), []byte(nil), "/run/a", "@b", []byte("\x05\x00\x01x"), true)
	f.Fuzz(func(t *testing.T, transport uint8, ips []byte, source, destination string, tlvs []byte, sum bool) {
		if len(tlvs) > 256 {
			t.Skip("every beginning is parsed")
		}
		ips = append(ips, make([]byte, 36)...)
		h := proxyproto.Header{Command: proxyproto.Proxy, Transport: proxyproto.Transport(transport)}
		var a, b netip.Addr
		switch h.Transport {
		case proxyproto.TCP4, proxyproto.UDP4:
			a, b = netip.AddrFrom4([4]byte(ips)), netip.AddrFrom4([4]byte(ips[4:]))
		case proxyproto.TCP6, proxyproto.UDP6:
			a, b = netip.AddrFrom16([16]byte(ips)), netip.AddrFrom16([16]byte(ips[16:]))
		case proxyproto.UnixStream, proxyproto.UnixDatagram:
			h.SourcePath, h.DestinationPath = source, destination
		}
		if a.IsValid() {
			h.Source = netip.AddrPortFrom(a, binary.BigEndian.Uint16(ips[32:]))
			h.Destination = netip.AddrPortFrom(b, binary.BigEndian.Uint16(ips[34:]))
		}
		h.TLVs = bytes.Clone(tlvs)
		if sum {
			h.TLVs = proxyproto.AppendCRC32C(h.TLVs)
		}
		if _, err := proxyproto.AppendV2(nil, &h); err != nil {
			require.ErrorIs(t, err, proxyproto.ErrHeader)
			return
		}
		requireIdentity(t, h)
	})
}

// FuzzV1Address compares with net/netip.
func FuzzV1Address(f *testing.F) {
	for _, s := range []string{"1.2.3.4", "01.2.3.4", "::", "1::8", "::ffff:1.2.3.4", "1:2:3:4:5:6:7::", "1:2:3:4:5:6:1.2.3.4", "fe80::1%a", "::1:2:3:4:5:6:7", "0::.0.0.0", "1:.2.3.4"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsAny(s, " ") {
			t.Skip("two addresses")
		}
		want, err := netip.ParseAddr(s)
		h, _, err4 := parse(t, proxyproto.Parser{}, []byte("PROXY TCP4 "+s+" 1.2.3.4 1 2\r\n"))
		require.Equal(t, err == nil && want.Is4(), err4 == nil, "%q: %v", s, err4)
		if err4 == nil {
			require.Equal(t, want, h.Source.Addr())
		}
		h, _, err6 := parse(t, proxyproto.Parser{}, []byte("PROXY TCP6 "+s+" ::1 1 2\r\n"))
		require.Equal(t, err == nil && want.Is6() && want.Zone() == "" && len(s) <= 39, err6 == nil, "%q: %v", s, err6)
		if err6 == nil {
			require.Equal(t, want, h.Source.Addr())
		}
	})
}
