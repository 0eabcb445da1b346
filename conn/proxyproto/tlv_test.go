package proxyproto_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn/proxyproto"
)

// crc32c is the checksum bit by bit, after RFC 3385 and RFC 4960, appendix B.
func crc32c(b []byte) uint32 {
	sum := ^uint32(0)
	for _, c := range b {
		sum ^= uint32(c)
		for range 8 {
			sum = sum>>1 ^ 0x82f63b78*(sum&1)
		}
	}
	return ^sum
}

// withCRC puts the sum where the header has four NULs behind a type 3.
func withCRC(t testing.TB, header string) []byte {
	at := strings.Index(header, "\x03\x00\x04\x00\x00\x00\x00")
	require.Positive(t, at)
	b := []byte(header)
	binary.BigEndian.PutUint32(b[at+3:], crc32c([]byte(header)))
	return b
}

func TestTheChecksumIsVerified(t *testing.T) {
	require.Equal(t, uint32(0xe3069283), crc32c([]byte("123456789")), "the check value of CRC-32C")
	const sum, before, behind = "\x03\x00\x04\x00\x00\x00\x00", "\x01\x00\x02h2", "\x04\x00\x01x"
	for name, header := range map[string]string{
		"alone":      v2(0x21, 0x11, ip4+sum),
		"first":      v2(0x21, 0x11, ip4+sum+behind),
		"in between": v2(0x21, 0x21, ip6+before+sum+behind),
		"last":       v2(0x21, 0x31, unixPath("/a")+unixPath("/b")+before+sum),
		"LOCAL":      v2(0x20, 0x00, before+sum),
	} {
		t.Run(name, func(t *testing.T) {
			b := withCRC(t, header)
			h, n, err := parse(t, proxyproto.Parser{}, b)
			require.NoError(t, err)
			require.Equal(t, len(b), n)
			_, ok := h.TLVs.Get(proxyproto.TypeCRC32C)
			require.True(t, ok)
			at := strings.Index(header, sum)
			for i := 16; i < len(b); i++ { // the bytes before are checked separately
				// Without its type there is no checksum. Bytes behind a header without addresses
				// that do not look like values are skipped.
				if i == at || header[13] == 0 && i < at+3 {
					continue
				}
				for bit := range 8 {
					wrong := bytes.Clone(b)
					wrong[i] ^= 1 << bit
					_, _, err := proxyproto.Parse(wrong)
					require.Error(t, err, "bit %d of byte %d", bit, i)
				}
			}
		})
	}
	_, _, err := proxyproto.Parse([]byte(v2(0x21, 0x11, ip4+sum)))
	require.ErrorIs(t, err, proxyproto.ErrChecksum)
	require.ErrorIs(t, err, proxyproto.ErrMalformed)
}

func TestValuesAreFound(t *testing.T) {
	ssl := proxyproto.SSL{Client: proxyproto.ClientSSL | proxyproto.ClientCertConn, Verify: 0}
	ssl.TLVs = proxyproto.AppendTLV(ssl.TLVs, proxyproto.SubtypeSSLVersion, "TLSv1.3")
	ssl.TLVs = proxyproto.AppendTLV(ssl.TLVs, proxyproto.SubtypeSSLCN, "client.example")
	tlvs := proxyproto.AppendTLV(nil, proxyproto.TypeALPN, "h2")
	tlvs = proxyproto.AppendTLV(tlvs, proxyproto.TypeAuthority, []byte("www.example.com"))
	tlvs = proxyproto.AppendTLV(tlvs, proxyproto.TypeUniqueID, strings.Repeat("u", 128))
	tlvs = proxyproto.AppendTLV(tlvs, proxyproto.TypeNetNS, "blue")
	tlvs = proxyproto.AppendTLV(tlvs, 0xea, "\x01vpce-08d2bf15fac5001c9") // what AWS sends
	tlvs = proxyproto.AppendSSL(tlvs, ssl)
	tlvs = proxyproto.AppendTLV(tlvs, proxyproto.TypeALPN, "the second")
	tlvs = proxyproto.AppendTLV(tlvs, proxyproto.TypeNoop, "")

	h, n, err := parse(t, proxyproto.Parser{}, []byte(v2(0x21, 0x11, ip4+string(tlvs))))
	require.NoError(t, err)
	require.Equal(t, 28+len(tlvs), n)
	for typ, want := range map[proxyproto.Type]string{
		proxyproto.TypeALPN: "h2", proxyproto.TypeAuthority: "www.example.com", proxyproto.TypeNetNS: "blue",
		proxyproto.TypeUniqueID: strings.Repeat("u", 128), 0xea: "\x01vpce-08d2bf15fac5001c9", proxyproto.TypeNoop: "",
	} {
		v, ok := h.TLVs.Get(typ)
		require.True(t, ok)
		require.Equal(t, want, string(v))
		require.Equal(t, len(v), cap(v))
	}
	_, ok := h.TLVs.Get(0xee)
	require.False(t, ok)

	got, ok := h.TLVs.SSL()
	require.True(t, ok)
	require.Equal(t, ssl, got)
	require.True(t, got.Verified())
	v, ok := got.TLVs.Get(proxyproto.SubtypeSSLCN)
	require.True(t, ok)
	require.Equal(t, "client.example", string(v))

	var types []proxyproto.Type
	for typ := range h.TLVs.All() {
		types = append(types, typ)
	}
	require.Equal(t, []proxyproto.Type{1, 2, 5, 0x30, 0xea, 0x20, 1, 4}, types)
	for range h.TLVs.All() {
		break
	}
}

func TestAClientIsVerifiedOnlyWithACertificate(t *testing.T) {
	for _, c := range []struct {
		ssl  proxyproto.SSL
		want bool
	}{
		{proxyproto.SSL{}, false},
		{proxyproto.SSL{Client: proxyproto.ClientSSL}, false},
		{proxyproto.SSL{Client: proxyproto.ClientSSL | proxyproto.ClientCertConn, Verify: 10}, false},
		{proxyproto.SSL{Client: proxyproto.ClientSSL | proxyproto.ClientCertConn}, true},
		{proxyproto.SSL{Client: proxyproto.ClientSSL | proxyproto.ClientCertSess}, true},
	} {
		require.Equal(t, c.want, c.ssl.Verified())
	}
	_, ok := proxyproto.TLVs(nil).SSL()
	require.False(t, ok)
}

func TestValuesThatWereNotParsedAreReadWithinTheirBounds(t *testing.T) {
	for _, s := range []string{"\x01", "\x01\x00", "\x01\x00\x02h", "\x01\xff\xff", "\x20\x00\x02ab"} {
		tlvs := proxyproto.TLVs(s)
		for _, v := range tlvs.All() {
			require.Equal(t, "ab", string(v))
		}
		_, ok := tlvs.SSL()
		require.False(t, ok)
	}
	require.Panics(t, func() { proxyproto.AppendTLV(nil, 4, make([]byte, 1<<16)) })
}
