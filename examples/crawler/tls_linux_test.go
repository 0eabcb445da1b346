package main

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// The program's roots are those of SSL_CERT_FILE, see package crypto/x509.
func TestHTTPS(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "secret") }))
		defer s.Close()
		roots := filepath.Join(t.TempDir(), "roots.pem")
		require.NoError(t, os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
		t.Setenv("SSL_CERT_FILE", roots)
		lines, stderr, _ := crawl(t, "-backend", backend, s.URL)
		require.Equal(t, []string{"200 " + s.URL + " 6 bytes"}, lines)
		require.Empty(t, stderr)
		t.Setenv("SSL_CERT_FILE", os.DevNull)
		t.Setenv("SSL_CERT_DIR", t.TempDir())
		lines, _, _ = crawl(t, "-backend", backend, s.URL)
		require.Len(t, lines, 1)
		require.Contains(t, lines[0], "certificate")
	})
}
