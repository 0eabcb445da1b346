package proxyproto_test

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/suiro-go/suiro/conn/proxyproto"
)

// A header that arrives in two pieces, with the client's first bytes behind it.
func ExampleParse() {
	var b []byte
	for _, piece := range []string{"PROXY TCP4 192.0.2.1 ", "198.51.100.7 56324 443\r\nhello"} {
		b = append(b, piece...)
		h, n, err := proxyproto.Parse(b)
		if errors.Is(err, proxyproto.ErrIncomplete) {
			fmt.Println("waiting for more")
			continue
		}
		if err != nil {
			fmt.Println(err) // close the connection
			return
		}
		fmt.Printf("%v connected to %v and says %q\n", h.SourceAddr(), h.DestinationAddr(), b[n:])
	}
	_, _, err := proxyproto.Parse([]byte("PROXY TCP4 192.0.2.01"))
	fmt.Println(err)
	// Output:
	// waiting for more
	// 192.0.2.1:56324 connected to 198.51.100.7:443 and says "hello"
	// proxyproto: malformed header: malformed address (byte 20)
}

func ExampleTrust() {
	trust := proxyproto.Trust{Sources: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}}
	header := []byte("PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\r\n")
	for _, remote := range []net.Addr{
		&net.TCPAddr{IP: net.IPv4(10, 0, 0, 5), Port: 40000},
		&net.TCPAddr{IP: net.IPv4(203, 0, 113, 9), Port: 40000},
	} {
		policy := trust.For(remote)
		h, _, err := trust.Parse(policy, header)
		fmt.Println(remote, policy, h.Source, err)
	}
	// Output:
	// 10.0.0.5:40000 require 192.0.2.1:56324 <nil>
	// 203.0.113.9:40000 reject invalid AddrPort proxyproto: connection from an untrusted source
}

func ExampleAppendV2() {
	h := proxyproto.Header{
		Command: proxyproto.Proxy, Transport: proxyproto.TCP6,
		Source:      netip.MustParseAddrPort("[2001:db8::1]:56324"),
		Destination: netip.MustParseAddrPort("[2001:db8::2]:443"),
	}
	h.TLVs = proxyproto.AppendTLV(h.TLVs, proxyproto.TypeAuthority, "www.example.com")
	h.TLVs = proxyproto.AppendCRC32C(h.TLVs)
	b, err := proxyproto.AppendV2(nil, &h)
	if err != nil {
		fmt.Println(err)
		return
	}
	got, n, err := proxyproto.Parse(b)
	name, _ := got.TLVs.Get(proxyproto.TypeAuthority)
	fmt.Println(n, got.Source, string(name), err)
	// Output:
	// 77 [2001:db8::1]:56324 www.example.com <nil>
}
