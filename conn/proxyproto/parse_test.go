package proxyproto_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn/proxyproto"
)

// parse gives b to p, cut off at each byte. The results for a part must agree with those for the
// whole. An error must be found at the byte that causes it.
func parse(t testing.TB, p proxyproto.Parser, b []byte) (proxyproto.Header, int, error) {
	t.Helper()
	whole, wholeN, wholeErr := p.Parse(b)
	want, alive := 0, 0
	for i := range len(b) + 1 {
		part := bytes.Clone(b[:i])
		h, n, err := p.Parse(part[:i:i])
		if errors.Is(err, proxyproto.ErrIncomplete) {
			require.Greater(t, n, i, "it has what it wants")
			require.GreaterOrEqual(t, n, want, "it wants less than before")
			require.Equal(t, proxyproto.Header{}, h)
			want, alive = n, i
			continue
		}
		require.Equal(t, wholeErr, err, "%q", part)
		require.Equal(t, whole, h)
		require.Equal(t, wholeN, n)
		var wrong *proxyproto.ParseError
		if errors.As(err, &wrong) {
			require.Zero(t, n)
			require.Equal(t, alive, wrong.Offset, "the byte that shows it")
			require.Equal(t, i-1, wrong.Offset)
			require.True(t, errors.Is(err, proxyproto.ErrMalformed) != errors.Is(err, proxyproto.ErrNoHeader))
			lowered := p.Max > 0 && p.Max < 107 && b[0] == 'P' // the line is counted only as it ends
			if wrong.Err != proxyproto.ErrChecksum && !lowered {
				requireGoesOn(t, p, b[:alive])
			}
			break
		}
		require.NoError(t, err)
		require.Equal(t, i, n)
		require.GreaterOrEqual(t, n, want)
		break
	}
	return whole, wholeN, wholeErr
}

// requireGoesOn: there is a byte with which an incomplete header goes on, so that
// the mistake was not in it already.
func requireGoesOn(t testing.TB, p proxyproto.Parser, part []byte) {
	t.Helper()
	for c := range 256 {
		_, _, err := p.Parse(append(bytes.Clone(part), byte(c)))
		if err == nil || errors.Is(err, proxyproto.ErrIncomplete) || errors.Is(err, proxyproto.ErrChecksum) {
			return
		}
	}
	require.Fail(t, "should have been rejected earlier", "%q", part)
}

const sigV2 = "\r\n\r\n\x00\r\nQUIT\n"

// v2 is a header of version 2 with the right length.
func v2(command, family byte, body string) string {
	return sigV2 + string([]byte{command, family, byte(len(body) >> 8), byte(len(body))}) + body
}

var (
	ip4 = "\xc0\xa8\x00\x01" + "\xc0\xa8\x00\x0b" + "\xdc\x04" + "\x01\xbb" // 192.168.0.1:56324 192.168.0.11:443
	ip6 = "\x20\x01\x0d\xb8" + strings.Repeat("\x00", 11) + "\x01" +
		"\x20\x01\x0d\xb8" + strings.Repeat("\x00", 11) + "\x02" + "\xdc\x04" + "\x01\xbb"
	source4, destination4 = netip.MustParseAddrPort("192.168.0.1:56324"), netip.MustParseAddrPort("192.168.0.11:443")
	source6, destination6 = netip.MustParseAddrPort("[2001:db8::1]:56324"), netip.MustParseAddrPort("[2001:db8::2]:443")
)

func unixPath(s string) string { return s + strings.Repeat("\x00", 108-len(s)) }

func TestHeadersAreRead(t *testing.T) {
	type header = proxyproto.Header
	v1of := func(tr proxyproto.Transport, s, d string) header {
		return header{Version: 1, Command: proxyproto.Proxy, Transport: tr,
			Source: netip.MustParseAddrPort(s), Destination: netip.MustParseAddrPort(d)}
	}
	unknown := header{Version: 1, Command: proxyproto.Proxy}
	proxy := header{Version: 2, Command: proxyproto.Proxy}
	full := "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"
	for _, c := range []struct {
		name, in string
		want     header
	}{
		{"the example of the specification", "PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\n",
			v1of(proxyproto.TCP4, "192.168.0.1:56324", "192.168.0.11:443")},
		{"the longest TCP4", "PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n",
			v1of(proxyproto.TCP4, "255.255.255.255:65535", "255.255.255.255:65535")},
		{"the shortest TCP4", "PROXY TCP4 0.0.0.0 0.0.0.0 0 0\r\n", v1of(proxyproto.TCP4, "0.0.0.0:0", "0.0.0.0:0")},
		{"the longest TCP6", "PROXY TCP6 " + full + " " + full + " 65535 65535\r\n",
			v1of(proxyproto.TCP6, "["+full+"]:65535", "["+full+"]:65535")},
		{"TCP6 with gaps and capitals", "PROXY TCP6 ::1 2001:DB8::8 1 2\r\n", v1of(proxyproto.TCP6, "[::1]:1", "[2001:db8::8]:2")},
		{"TCP6, gap of one", "PROXY TCP6 1:2:3:4:5:6:7:: ::2:3:4:5:6:7:8 1 2\r\n",
			v1of(proxyproto.TCP6, "[1:2:3:4:5:6:7:0]:1", "[0:2:3:4:5:6:7:8]:2")},
		{"TCP6 as inet_ntop writes it", "PROXY TCP6 ::ffff:192.0.2.1 64:ff9b::192.0.2.33 1 2\r\n",
			v1of(proxyproto.TCP6, "[::ffff:192.0.2.1]:1", "[64:ff9b::c000:221]:2")},
		{"UNKNOWN", "PROXY UNKNOWN\r\n", unknown},
		{"the longest UNKNOWN", "PROXY UNKNOWN " + full + " " + full + " 65535 65535\r\n", unknown},
		{"UNKNOWN and what is not even text", "PROXY UNKNOWN \x00\xff \t%n\r\n", unknown},

		{"LOCAL", v2(0x20, 0x00, ""), header{Version: 2}},
		{"LOCAL with addresses", v2(0x20, 0x11, ip4), header{Version: 2}},
		{"LOCAL with an address cut off", v2(0x20, 0x21, ip4), header{Version: 2}},
		{"LOCAL of a family that does not exist", v2(0x20, 0xff, ip4), header{Version: 2}},
		{"UNSPEC", v2(0x21, 0x00, ""), proxy},
		{"UNSPEC with addresses", v2(0x21, 0x00, ip4), proxy},
		{"a family without protocol", v2(0x21, 0x10, ip4), proxy},
		{"a protocol without family", v2(0x21, 0x02, "x"), proxy},
		{"TCP4 of version 2", v2(0x21, 0x11, ip4),
			header{2, proxyproto.Proxy, proxyproto.TCP4, source4, destination4, "", "", nil}},
		{"UDP4", v2(0x21, 0x12, ip4),
			header{2, proxyproto.Proxy, proxyproto.UDP4, source4, destination4, "", "", nil}},
		{"TCP6 of version 2", v2(0x21, 0x21, ip6),
			header{2, proxyproto.Proxy, proxyproto.TCP6, source6, destination6, "", "", nil}},
		{"UDP6", v2(0x21, 0x22, ip6),
			header{2, proxyproto.Proxy, proxyproto.UDP6, source6, destination6, "", "", nil}},
		{"a Unix stream", v2(0x21, 0x31, unixPath("/run/a")+unixPath("\x00abstract")),
			header{Version: 2, Command: proxyproto.Proxy, Transport: proxyproto.UnixStream, SourcePath: "/run/a", DestinationPath: "@abstract"}},
		{"a Unix datagram socket, unnamed, and a path without NUL", v2(0x21, 0x32, unixPath("")+strings.Repeat("p", 108)),
			header{Version: 2, Command: proxyproto.Proxy, Transport: proxyproto.UnixDatagram, DestinationPath: strings.Repeat("p", 108)}},
		{"a path with rubbish behind its NUL", v2(0x21, 0x31, unixPath("/a\x00rubbish")+unixPath("/b")),
			header{Version: 2, Command: proxyproto.Proxy, Transport: proxyproto.UnixStream, SourcePath: "/a", DestinationPath: "/b"}},
		{"values", v2(0x21, 0x11, ip4+"\x01\x00\x02h2"+"\x04\x00\x00"),
			header{2, proxyproto.Proxy, proxyproto.TCP4, source4, destination4, "", "", proxyproto.TLVs("\x01\x00\x02h2\x04\x00\x00")}},
		{"LOCAL with a value", v2(0x20, 0x00, "\x05\x00\x02id"),
			header{Version: 2, TLVs: proxyproto.TLVs("\x05\x00\x02id")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := []byte(c.in + "GET / HTTP/1.1\r\n")
			h, n, err := parse(t, proxyproto.Parser{}, in)
			require.NoError(t, err)
			require.Equal(t, c.want, h)
			require.Equal(t, len(c.in), n, "the rest is the client's")
			if h.TLVs != nil {
				require.Equal(t, len(h.TLVs), cap(h.TLVs), "appending to the values would overwrite the client's bytes")
			}
		})
	}
}

func TestWhatIsNoHeaderIsRejectedAtTheByteThatShowsIt(t *testing.T) {
	const none, bad, long = 0, 1, 2
	kinds := []error{none: proxyproto.ErrNoHeader, bad: proxyproto.ErrMalformed, long: proxyproto.ErrTooLong}
	for _, c := range []struct {
		in   string // the last byte is the one
		kind int
	}{
		{"G", none}, {"\x16", none}, {"PO", none}, {"PROXX", none}, {"PROXYI", none}, {"PROXY\t", none}, {"p", none},
		{"\r\n\r\n\x00\r\nQUITE", none}, {"\r\n\r\nG", none}, {"\n", none},

		{"PROXY  ", bad}, {"PROXY S", bad}, {"PROXY TCP5", bad}, {"PROXY TCP4\t", bad}, {"PROXY tcp4"[:7], bad},
		{"PROXY UNKNOWNS", bad}, {"PROXY UNKNOWN\n", bad}, {"PROXY UNKNOWN\rX", bad}, {"PROXY UNKNOWN a\n", bad}, {"PROXY UNKNOWN a\rb", bad},
		{"PROXY TCP4  ", bad}, {"PROXY TCP4 01", bad}, {"PROXY TCP4 256", bad}, {"PROXY TCP4 1..", bad}, {"PROXY TCP4 .", bad},
		{"PROXY TCP4 1.2.3 ", bad}, {"PROXY TCP4 1.2.3. ", bad}, {"PROXY TCP4 1.2.3.4.", bad}, {"PROXY TCP4 1.2.3.4\r", bad}, {"PROXY TCP4 1.2.3.00", bad},
		{"PROXY TCP4 :", bad}, {"PROXY TCP4 1.2.3.4  ", bad}, {"PROXY TCP4 1.2.3.4 5.6.7.8\r", bad}, {"PROXY TCP4 -", bad}, {"PROXY TCP4 1.2.3.4/", bad},
		{"PROXY TCP6 1.", bad}, {"PROXY TCP6 g", bad}, {"PROXY TCP6 12345", bad}, {"PROXY TCP6 :1", bad}, {"PROXY TCP6 : ", bad},
		{"PROXY TCP6 :::", bad}, {"PROXY TCP6 1::2::", bad}, {"PROXY TCP6 1:2:3:4:5:6:7:8:", bad}, {"PROXY TCP6 1:2:3:4:5:6:7 ", bad},
		{"PROXY TCP6 1::2:3:4:5:6:7:", bad}, {"PROXY TCP6 1:2:3:4:5:6:7::8", bad}, {"PROXY TCP6 ::1:2:3:4:5:6:7:", bad},
		{"PROXY TCP6 ::1%", bad}, {"PROXY TCP6 fe80: ", bad}, {"PROXY TCP6 ::ffff:1.2.3 ", bad}, {"PROXY TCP6 ::ffff:01.", bad},
		{"PROXY TCP6 ::ffff:a1.", bad}, {"PROXY TCP6 ::ffff:256.", bad}, {"PROXY TCP6 1:2:3:4:5:6:7:8.", bad}, {"PROXY TCP6 1:2:3:4:5:6.", bad},
		{"PROXY TCP6 1::2:3:4:5:6:7.", bad}, {"PROXY TCP6 ::1.2.3.4.", bad}, {"PROXY TCP6 ::1.2.3.4:", bad}, {"PROXY TCP6 [", bad},
		{"PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:255.25", bad}, {"PROXY TCP6 ::ffff:1.2.3.4 1.", bad},
		{"PROXY TCP4 1.2.3.4 5.6.7.8  ", bad}, {"PROXY TCP4 1.2.3.4 5.6.7.8 01", bad}, {"PROXY TCP4 1.2.3.4 5.6.7.8 00", bad},
		{"PROXY TCP4 1.2.3.4 5.6.7.8 65536", bad}, {"PROXY TCP4 1.2.3.4 5.6.7.8 -", bad}, {"PROXY TCP4 1.2.3.4 5.6.7.8 +", bad},
		{"PROXY TCP4 1.2.3.4 5.6.7.8 1\r", bad}, {"PROXY TCP4 1.2.3.4 5.6.7.8 1 \r", bad}, {"PROXY TCP4 1.2.3.4 5.6.7.8 1 2 ", bad},
		{"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\n", bad}, {"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\rX", bad}, {"PROXY TCP4 1.2.3.4 5.6.7.8 1 100000", bad},
		{"PROXY UNKNOWN " + strings.Repeat("x", 92), long},

		{sigV2 + "\x11", bad}, {sigV2 + "\x31", bad}, {sigV2 + "\x22", bad}, {sigV2 + "\x2f", bad},
		{sigV2 + "\x21\x41", bad}, {sigV2 + "\x21\x13", bad}, {sigV2 + "\x21\xff", bad},
		{sigV2 + "\x21\x11\x00\x0b", bad}, {sigV2 + "\x21\x21\x00\x23", bad}, {sigV2 + "\x21\x31\x00\xd7", bad},
		{sigV2 + "\x21\x11\x00\x0d", bad}, {sigV2 + "\x21\x11\x00\x0e", bad}, {sigV2 + "\x20\x00\x40", long},
		{sigV2 + "\x20\x00\x3f\xf1", long},
		{sigV2 + "\x21\x11\x00\x10" + ip4 + "\x01\x00\x02", bad}, // a length beyond the header
		{sigV2 + "\x21\x11\x00\x10" + ip4 + "\x01\x01", bad},
		{sigV2 + "\x21\x11\x00\x11" + ip4 + "\x01\x00\x01", bad},                 // one byte is left
		{sigV2 + "\x21\x11\x00\x12" + ip4 + "\x01\x00\x01", bad},                 // two bytes are left
		{sigV2 + "\x21\x11\x00\x11" + ip4 + "\x03", bad},                         // no room for a checksum
		{sigV2 + "\x21\x11\x00\x20" + ip4 + "\x03\x00\x05", bad},                 // a checksum of five bytes
		{sigV2 + "\x21\x11\x00\x1a" + ip4 + "\x03\x00\x04abcd\x03", bad},         // two checksums
		{sigV2 + "\x21\x11\x01\x20" + ip4 + "\x05\x00\x81", bad},                 // a unique ID of 129 bytes
		{sigV2 + "\x21\x11\x00\x20" + ip4 + "\x20\x00\x04", bad},                 // less than an SSL value has
		{sigV2 + "\x21\x11\x00\x20" + ip4 + "\x20\x00\x06", bad},                 // a byte behind it
		{sigV2 + "\x21\x11\x00\x17" + ip4 + "\x20\x00\x08\x00....\x21\x01", bad}, // a value in it that is longer than it
	} {
		t.Run(fmt.Sprintf("%q", c.in), func(t *testing.T) {
			_, _, err := proxyproto.Parse([]byte(c.in[:len(c.in)-1]))
			require.ErrorIs(t, err, proxyproto.ErrIncomplete, "the byte before")
			_, _, err = parse(t, proxyproto.Parser{}, []byte(c.in+"\r\n and more"))
			require.ErrorIs(t, err, kinds[c.kind])
			var wrong *proxyproto.ParseError
			require.ErrorAs(t, err, &wrong)
			require.Equal(t, len(c.in)-1, wrong.Offset)
			require.Contains(t, err.Error(), fmt.Sprintf("(byte %d)", wrong.Offset))
		})
	}
}

func TestALineOf107BytesPassesAndOneOf108DoesNot(t *testing.T) {
	line := func(n int) []byte {
		const around = len("PROXY UNKNOWN \r\n")
		return []byte("PROXY UNKNOWN " + strings.Repeat("x", n-around) + "\r\n")
	}
	_, n, err := parse(t, proxyproto.Parser{}, line(107))
	require.NoError(t, err)
	require.Equal(t, 107, n)
	_, _, err = parse(t, proxyproto.Parser{}, line(108))
	require.ErrorIs(t, err, proxyproto.ErrTooLong)
	_, _, err = parse(t, proxyproto.Parser{Max: 50}, line(50))
	require.NoError(t, err)
	_, _, err = parse(t, proxyproto.Parser{Max: 50}, line(51))
	require.ErrorIs(t, err, proxyproto.ErrTooLong)
}

func TestTheLimitOfVersion2IsTheCallers(t *testing.T) {
	tlvs := proxyproto.AppendTLV(nil, proxyproto.TypeNoop, strings.Repeat("x", 1<<16-1-12-3))
	longest := []byte(v2(0x21, 0x11, ip4+string(tlvs)))
	require.Len(t, longest, 65551)
	_, _, err := proxyproto.Parse(longest)
	require.ErrorIs(t, err, proxyproto.ErrTooLong)
	_, n, err := proxyproto.Parser{Max: 65551}.Parse(longest)
	require.NoError(t, err)
	require.Equal(t, 65551, n)
	_, _, err = proxyproto.Parser{Max: 65550}.Parse(longest)
	require.ErrorIs(t, err, proxyproto.ErrTooLong)
	_, _, err = proxyproto.Parser{Max: math.MaxInt}.Parse(longest[:len(longest)-1])
	require.ErrorIs(t, err, proxyproto.ErrIncomplete)

	at := []byte(v2(0x21, 0x11, ip4))
	_, _, err = parse(t, proxyproto.Parser{Max: len(at)}, at)
	require.NoError(t, err)
	_, _, err = parse(t, proxyproto.Parser{Max: len(at) - 1}, at)
	require.ErrorIs(t, err, proxyproto.ErrTooLong)
	require.Panics(t, func() { _, _, _ = proxyproto.Parser{Max: -1}.Parse(nil) })
}

func TestParseSaysHowMuchItWants(t *testing.T) {
	full := v2(0x21, 0x11, ip4)
	for in, want := range map[string]int{
		"": 15, "P": 15, "PROXY TCP4 1.2.3.4": 19, "\r": 16, full[:15]: 16, full[:16]: 28, full[:27]: 28,
	} {
		_, n, err := proxyproto.Parse([]byte(in))
		require.Equal(t, proxyproto.ErrIncomplete, err)
		require.Equal(t, want, n, "%q", in)
	}
}

func TestAddressesAsNetAddr(t *testing.T) {
	for in, want := range map[string]net.Addr{
		v2(0x21, 0x11, ip4): net.TCPAddrFromAddrPort(source4),
		v2(0x21, 0x12, ip4): net.UDPAddrFromAddrPort(source4),
		v2(0x21, 0x21, ip6): net.TCPAddrFromAddrPort(source6),
		v2(0x21, 0x31, unixPath("\x00a")+unixPath("/b")): &net.UnixAddr{Name: "@a", Net: "unix"},
		v2(0x21, 0x32, unixPath("/a")+unixPath("/b")):    &net.UnixAddr{Name: "/a", Net: "unixgram"},
		v2(0x20, 0x11, ip4):                              nil,
		v2(0x21, 0x00, ip4):                              nil,
		"PROXY UNKNOWN\r\n":                              nil,
	} {
		h, _, err := proxyproto.Parse([]byte(in))
		require.NoError(t, err)
		require.Equal(t, want, h.SourceAddr())
		require.Equal(t, want != nil, h.Proxied())
		require.Equal(t, want != nil, h.DestinationAddr() != nil)
	}
}
