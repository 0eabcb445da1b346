package server_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

// certificate is one for the loopback address, and a pool that trusts it.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(crand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func TestCryptoTLSRunsOverSockets(t *testing.T) {
	cert, pool := certificate(t)
	onListeners(t, func(t *testing.T, s *server.Server) {
		ln := tls.NewListener(listen(t, s), &tls.Config{Certificates: []tls.Certificate{cert}})
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			cfg := &tls.Config{RootCAs: pool, ServerName: "127.0.0.1", MinVersion: version, MaxVersion: version}
			echoed := make(chan error, 1)
			go func() { // until the client has said that it is done
				c, err := ln.Accept()
				if err == nil {
					_, err = io.Copy(c, c)
				}
				if err == nil {
					err = c.(*tls.Conn).CloseWrite()
				}
				if err == nil {
					err = c.Close()
				}
				echoed <- err
			}()
			raw, err := dialVia(s)(t.Context(), "tcp", ln.Addr().String())
			require.NoError(t, err)
			c := tls.Client(raw, cfg)
			require.NoError(t, c.SetDeadline(time.Now().Add(2*conntest.Patience)))
			require.NoError(t, c.HandshakeContext(t.Context()))
			require.Equal(t, version, c.ConnectionState().Version)
			sent := make(chan error, 1)
			go func() {
				_, err := c.Write(body)
				if err == nil {
					err = c.CloseWrite()
				}
				sent <- err
			}()
			p, err := io.ReadAll(c)
			require.NoError(t, err, "it ends with close-notify")
			require.True(t, bytes.Equal(body, p))
			require.NoError(t, conntest.Receive(t, sent))
			require.NoError(t, conntest.Receive(t, echoed))
			require.NoError(t, c.Close())
		}
	})
}
