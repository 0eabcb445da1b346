package otel

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"

	"go.opentelemetry.io/otel/attribute"

	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// addressesOf are the attributes of OpenTelemetry's conventions for both ends of a connection.
func addressesOf(c *server.Conn, dialed bool) []attribute.KeyValue {
	local, remote := c.LocalAddr(), c.RemoteAddr()
	of := local
	if dialed {
		of = remote
	}
	all := endOf(of, "server.address", "server.port")
	all = append(all, endOf(remote, "network.peer.address", "network.peer.port")...)
	if remote != nil {
		all = append(all, attribute.String("network.transport", strings.TrimRight(remote.Network(), "46")))
	}
	if tcp, ok := remote.(*net.TCPAddr); ok {
		all = append(all, networkType(tcp.AddrPort().Addr()))
	}
	return all
}

func networkType(peer netip.Addr) attribute.KeyValue {
	if peer.Unmap().Is4() {
		return attribute.String("network.type", "ipv4")
	}
	return attribute.String("network.type", "ipv6")
}

// tlsOf are the attributes of a handshake. s is nil if nothing is known.
func tlsOf(s *tls.ConnectionState) []attribute.KeyValue {
	all := []attribute.KeyValue{attribute.String("tls.protocol.name", "tls"), attribute.Bool("tls.established", s != nil && s.HandshakeComplete)}
	if s == nil {
		return all
	}
	if s.Version != 0 {
		all = append(all, attribute.String("tls.protocol.version", strings.TrimPrefix(tls.VersionName(s.Version), "TLS ")))
	}
	if s.CipherSuite != 0 {
		all = append(all, attribute.String("tls.cipher", tls.CipherSuiteName(s.CipherSuite)))
	}
	if s.CurveID != 0 {
		all = append(all, attribute.String("tls.curve", s.CurveID.String()))
	}
	if s.NegotiatedProtocol != "" {
		all = append(all, attribute.String("tls.next_protocol", strings.ToValidUTF8(s.NegotiatedProtocol, "\uFFFD")))
	}
	if s.HandshakeComplete {
		all = append(all, attribute.Bool("tls.resumed", s.DidResume))
	}
	if s.ServerName != "" {
		all = append(all, attribute.String("server.address", strings.ToValidUTF8(s.ServerName, "\uFFFD")))
	}
	return all
}

func endOf(a net.Addr, address, port string) []attribute.KeyValue {
	switch a := a.(type) {
	case nil:
		return nil
	case *net.TCPAddr:
		return []attribute.KeyValue{attribute.String(address, a.AddrPort().Addr().Unmap().String()), attribute.Int(port, a.Port)}
	default:
		text := strings.ToValidUTF8(a.String(), "\uFFFD")
		if text == "" { // a Unix peer without a name
			return nil
		}
		return []attribute.KeyValue{attribute.String(address, text)}
	}
}

// errorType is the value of error.type for an error, as suiro.connection.duration has it. But any
// net.ErrClosed is "aborted" here.
func errorType(err error) string {
	var p *sched.PanicError
	switch {
	case errors.Is(err, server.ErrShed):
		return "shed"
	case errors.As(err, &p) || errors.Is(err, sched.ErrGoexit) || errors.Is(err, errUnwound):
		return "panic"
	case errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, syscall.ETIMEDOUT):
		return "timeout"
	case errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNABORTED):
		return "reset"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "truncated"
	case errors.Is(err, net.ErrClosed): // of Abort
		return "aborted"
	}
	return "_OTHER"
}
