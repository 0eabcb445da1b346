package proxyproto_test

import (
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn/proxyproto"
)

// Strings that are nearly addresses. net/netip is the oracle for them.
func TestAddressesAreThoseThatNetipReads(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	parts := []string{":", "::", ":", ":", ".", ".", "0", "00", "1", "ffff", "FFFF", "12345", "255", "256", "01", "a", "99", "1.2.3.4"}
	good := map[bool]int{}
	for i := range 60_000 {
		var s strings.Builder
		switch i % 3 {
		case 0: // groups, mostly few digits
			for j := range 1 + r.IntN(9) {
				if j > 0 {
					s.WriteString(parts[min(r.IntN(12), 1)])
				}
				s.WriteString([]string{"0", "1", "abcd", "7f", ""}[min(r.IntN(5), r.IntN(5))])
			}
			if r.IntN(3) == 0 {
				s.WriteString(":1.2.3.4")
			}
		case 1: // decimals
			for j := range 3 + r.IntN(3) {
				if j > 0 {
					s.WriteString(".")
				}
				s.WriteString([]string{"0", "9", "10", "255", "256", "00", "", "1000"}[min(r.IntN(8), r.IntN(8))])
			}
		default:
			for range 1 + r.IntN(14) {
				s.WriteString(parts[r.IntN(len(parts))])
			}
		}
		text := s.String()
		want, err := netip.ParseAddr(text)
		h, _, err4 := proxyproto.Parse([]byte("PROXY TCP4 " + text + " 1.2.3.4 1 2\r\n"))
		require.Equal(t, err == nil && want.Is4(), err4 == nil, "%q: %v", text, err4)
		if err4 == nil {
			require.Equal(t, want, h.Source.Addr())
		}
		h, _, err6 := proxyproto.Parse([]byte("PROXY TCP6 " + text + " ::1 1 2\r\n"))
		require.Equal(t, err == nil && want.Is6() && len(text) <= 39, err6 == nil, "%q: %v", text, err6)
		if err6 == nil {
			require.Equal(t, want, h.Source.Addr(), text)
		}
		good[err4 == nil || err6 == nil]++
		if i%20 == 0 { // dear: that each mistake is found at its byte
			_, _, _ = parse(t, proxyproto.Parser{}, []byte("PROXY TCP6 "+text+" ::1 1 2\r\n"))
		}
	}
	require.Greater(t, good[true], 3_000, "the strings are too wrong to tell anything")
	require.Greater(t, good[false], 3_000)
}
