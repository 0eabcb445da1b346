package server_test

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

// userTimeout sets TCP_USER_TIMEOUT of what TLS runs over, and returns what it is then.
func userTimeout(c net.Conn) (got int, err error) {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return 0, errors.New("it has no SyscallConn")
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return 0, err
	}
	cerr := raw.Control(func(fd uintptr) {
		if err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 12345); err == nil {
			got, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
		}
	})
	return got, errors.Join(cerr, err)
}

func TestOptionsAreSetBeneathTLS(t *testing.T) {
	cert, pool := conntest.Certificate(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		inHello, inHandler := make(chan error, 1), make(chan error, 1)
		say := func(to chan error, c net.Conn) {
			got, err := userTimeout(c)
			if err == nil && got != 12345 {
				err = errors.New("it was not set")
			}
			to <- err
		}
		cfg := &tls.Config{GetCertificate: func(i *tls.ClientHelloInfo) (*tls.Certificate, error) {
			say(inHello, i.Conn)
			return &cert, nil
		}}
		h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				inHandler <- err
				return
			}
			say(inHandler, c.(interface{ NetConn() net.Conn }).NetConn())
			_ = c.Close()
		})
		s := run(t, &server.Server{Handler: server.HTTP(h), TLS: cfg, Backend: backend})
		c := dialTLS(t, s.addr, pool)
		defer c.Close()
		_, err := c.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
		require.NoError(t, err)
		require.NoError(t, conntest.Receive(t, inHello))
		require.NoError(t, conntest.Receive(t, inHandler))
	})
}
