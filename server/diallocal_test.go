package server_test

import (
	"errors"
	"net"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// onBothLoopbacks are listeners on the same port of 127.0.0.1 and ::1.
func onBothLoopbacks(t *testing.T) (port string) {
	t.Helper()
	for range 100 {
		v4, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		port = strconv.Itoa(v4.Addr().(*net.TCPAddr).Port)
		v6, err := net.Listen("tcp", "[::1]:"+port)
		if errors.Is(err, errNoIPv6) {
			_ = v4.Close()
			t.Skip("there is no IPv6 here: ", err)
		}
		if err != nil { // somebody else's
			_ = v4.Close()
			continue
		}
		t.Cleanup(func() { _, _ = v4.Close(), v6.Close() })
		return port
	}
	t.Fatal("no port is free on both")
	return ""
}

// Which local addresses reach which remote ones is net.Dialer's rule, and so is which family
// stands for an unspecified remote address.
func TestLocalAddressesMatchAsNetDialers(t *testing.T) {
	port := onBothLoopbacks(t)
	locals := map[string]net.IP{"none": nil, "v4": net.IPv4(127, 0, 0, 1), "v6": net.IPv6loopback, "any v4": net.IPv4zero, "any v6": net.IPv6zero}
	conntest.Backends(t, func(t *testing.T, backend string) {
		c := newClient(t, backend, 1, false)
		for name, ip := range locals {
			hosts := []string{"127.0.0.1", "::1"}
			if runtime.GOOS != "windows" && runtime.GOOS != "openbsd" { // on those net.Dialer takes 127.0.0.1 for any local address
				hosts = append(hosts, "0.0.0.0", "::", "")
			}
			for _, network := range []string{"tcp", "tcp4", "tcp6"} {
				for _, host := range hosts {
					t.Run(name+" "+network+" "+host, func(t *testing.T) {
						addr := net.JoinHostPort(host, port)
						want := net.Dialer{Timeout: conntest.Patience}
						ours := c.Dialer
						if ip != nil {
							want.LocalAddr, ours.LocalAddr = &net.TCPAddr{IP: ip}, &net.TCPAddr{IP: ip}
						}
						a, err := want.DialContext(t.Context(), network, addr)
						b, oerr := ours.DialContext(t.Context(), network, addr)
						if err != nil {
							require.Error(t, oerr, "net.Dialer: %v", err)
							return
						}
						defer a.Close()
						require.NoError(t, oerr)
						defer b.Close()
						require.Equal(t, a.RemoteAddr().String(), b.RemoteAddr().String())
						require.Equal(t, a.LocalAddr().(*net.TCPAddr).IP.String(), b.LocalAddr().(*net.TCPAddr).IP.String())
					})
				}
			}
		}
	})
}
