// Socks5 is a SOCKS5 proxy (RFC 1928) in plain sequential code. It carries out CONNECT for clients
// without authentication, to IPv4 and IPv6 addresses and to names, which it resolves itself.
//
//	go run ./examples/socks5 -addr 127.0.0.1:1080
//	curl --socks5-hostname 127.0.0.1:1080 https://example.com/
package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"net"
	"net/netip"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/suiro-go/suiro/examples/internal/app"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

const (
	version                          = 5
	noAuthentication, noneAcceptable = 0, 0xFF // methods
	connect                          = 1       // the command; others are bind and UDP associate
	ipv4, domain, ipv6               = 1, 3, 4 // types of addresses

	// replies
	succeeded, generalFailure, networkUnreachable, hostUnreachable              = 0, 1, 3, 4
	connectionRefused, ttlExpired, commandNotSupported, addressTypeNotSupported = 5, 6, 7, 8
)

func main() {
	s := &server.Server{}
	p := &proxy{dialer: server.Dialer{Group: s.Group}}
	s.Handler = server.Sequential(p.serve)
	app.Flags(s, "127.0.0.1:1080")
	flag.DurationVar(&p.handshake, "handshake", 5*time.Second, "how long a client may take to send its request")
	flag.DurationVar(&p.dialer.Timeout, "dial", 10*time.Second, "how long a dial may take")
	flag.DurationVar(&p.idle, "idle", 0, "how long a connection may carry nothing; 0: for ever")
	flag.Parse()
	app.Main("socks5", s)
}

type proxy struct {
	dialer          server.Dialer
	handshake, idle time.Duration
}

// serve carries out one client's request. Then it passes bytes on both ways, until both sides have
// finished. Bytes that the client has sent behind its request are the first of them.
func (p *proxy) serve(cx *sched.Context, client *server.Stream) error {
	_ = client.SetReadDeadline(time.Now().Add(p.handshake)) // an error is that of the reads, too
	if err := greet(client); err != nil {
		return err
	}
	to, err := request(client)
	if err != nil {
		return err
	}
	_ = client.SetReadDeadline(time.Time{})
	upstream, err := p.dialer.DialStream(cx, "tcp", to)
	if err != nil {
		return refuse(client, failure(err), err)
	}
	defer func() { _ = upstream.Close() }() // if Splice cannot begin
	_, _ = client.Write(reply(succeeded, upstream.LocalAddr()))
	_, _, err = client.Splice(cx, upstream, p.idle)
	return err
}

// greet reads the methods that the client offers, and chooses one: no authentication.
func greet(client *server.Stream) error {
	head, err := client.Peek(2) // version, number of methods
	if err != nil || head[0] != version {
		return errors.Join(err, errors.New("no greeting of SOCKS5"))
	}
	p, err := client.Next(2 + int(head[1]))
	if err != nil {
		return err
	}
	chosen := byte(noAuthentication)
	if bytes.IndexByte(p[2:], noAuthentication) < 0 {
		chosen, err = noneAcceptable, errors.New("the client wants authentication")
	}
	_, _ = client.Write([]byte{version, chosen})
	return err
}

// request reads a CONNECT, and returns the address in it. It refuses other requests.
func request(client *server.Stream) (to string, err error) {
	head, err := client.Peek(5) // version, command, reserved, type of address, its first byte
	if err != nil || head[0] != version {
		return "", errors.Join(err, errors.New("no request of SOCKS5"))
	}
	size := map[byte]int{ipv4: 4, domain: 1 + int(head[4]), ipv6: 16}[head[3]]
	p, err := client.Next(4 + size + 2)
	if err != nil {
		return "", err
	}
	address, port := p[4:4+size], strconv.Itoa(int(binary.BigEndian.Uint16(p[4+size:])))
	switch {
	case p[1] != connect:
		return "", refuse(client, commandNotSupported, errors.New("an unknown command"))
	case size > 1 && p[3] == domain:
		return net.JoinHostPort(string(address[1:]), port), nil // behind its length
	case size > 1:
		return net.JoinHostPort(net.IP(address).String(), port), nil
	}
	return "", refuse(client, addressTypeNotSupported, errors.New("an unknown type of address, or no name"))
}

// refuse answers with a failure, and returns why.
func refuse(client *server.Stream, code byte, why error) error {
	_, _ = client.Write(reply(code, nil))
	return why
}

// failure is the reply after a dial that has failed. RFC 1928 names none for a time-out. It is
// ttlExpired, as in Dante: so a client tells a silent host from an unreachable one.
func failure(err error) byte {
	var unknown *net.DNSError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return connectionRefused
	case errors.Is(err, syscall.EHOSTUNREACH), errors.As(err, &unknown):
		return hostUnreachable
	case errors.Is(err, syscall.ENETUNREACH):
		return networkUnreachable
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, syscall.ETIMEDOUT):
		return ttlExpired
	}
	return generalFailure
}

// reply is an answer with the address that the upstream sees; nil: 0.0.0.0:0.
func reply(code byte, bound net.Addr) []byte {
	ip, port, kind := netip.IPv4Unspecified(), uint16(0), byte(ipv4)
	if a, ok := bound.(*net.TCPAddr); ok {
		ip, port = a.AddrPort().Addr().Unmap(), a.AddrPort().Port()
	}
	if ip.Is6() {
		kind = ipv6
	}
	p := append([]byte{version, code, 0, kind}, ip.AsSlice()...)
	return binary.BigEndian.AppendUint16(p, port)
}
