package server_test

import (
	"crypto/tls"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/server"
)

// A program that is moved from ListenAndServeTLS and forgets Server.TLS would serve plain text.
func TestCertificatesOfTheHTTPServerAloneAreRefused(t *testing.T) {
	cert := tls.Certificate{Certificate: [][]byte{{1}}}
	for _, cfg := range []*tls.Config{
		{Certificates: []tls.Certificate{cert}},
		{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &cert, nil }},
	} {
		s := &server.Server{Addr: "127.0.0.1:0", Handler: server.HTTPServer(&http.Server{TLSConfig: cfg})}
		require.ErrorContains(t, s.ListenAndServe(), "set Server.TLS")
		require.NoError(t, s.Close())
	}
	// package http2 sets one without certificates, also for plain text
	s := &server.Server{Addr: "127.0.0.1:0", Handler: server.HTTPServer(&http.Server{TLSConfig: new(tls.Config)})}
	ln, err := s.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, ln.Close())
	require.NoError(t, s.Close())
}
