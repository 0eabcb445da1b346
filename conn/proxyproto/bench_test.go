package proxyproto_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn/proxyproto"
)

func headers(t testing.TB) map[string][]byte {
	return map[string][]byte{
		"V1TCP4":    []byte("PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\n"),
		"V1TCP6":    []byte("PROXY TCP6 2001:db8::1 2001:db8:1:2:3:4:5:6 56324 443\r\n"),
		"V2TCP4":    []byte(v2(0x21, 0x11, ip4)),
		"V2TCP6CRC": withCRC(t, v2(0x21, 0x21, ip6+"\x01\x00\x02h2\x03\x00\x04\x00\x00\x00\x00")),
	}
}

func TestReadingAndWritingAllocateNothing(t *testing.T) {
	for name, b := range headers(t) {
		h, _, err := proxyproto.Parse(b)
		require.NoError(t, err)
		dst := make([]byte, 0, 256)
		require.Zero(t, testing.AllocsPerRun(100, func() {
			if _, _, err := proxyproto.Parse(b); err != nil {
				panic(err)
			}
			if _, _, err := proxyproto.Parse(b[:len(b)-1]); err != proxyproto.ErrIncomplete {
				panic(err)
			}
			if _, err := proxyproto.AppendV1(dst, &h); err != nil {
				panic(err)
			}
			if _, err := proxyproto.AppendV2(dst, &h); err != nil {
				panic(err)
			}
		}), name)
	}
}

func BenchmarkParse(b *testing.B) {
	for name, in := range headers(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := proxyproto.Parse(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppendV2(b *testing.B) {
	h, _, err := proxyproto.Parse(headers(b)["V2TCP6CRC"])
	require.NoError(b, err)
	dst := make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := proxyproto.AppendV2(dst, &h); err != nil {
			b.Fatal(err)
		}
	}
}
