package server_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

func TestCryptoTLSRunsOverSockets(t *testing.T) {
	cert, pool := conntest.Certificate(t)
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
