package interop

import (
	"crypto/tls"
	"encoding/xml"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// h2spec is the version that the module proxy has.
const h2spec = "github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible"

// HTTP/2 is net/http's, so h2spec finds the same deviations on Suiro as on package net.
func TestH2specFindsWhatItFindsOnPackageNet(t *testing.T) {
	dir := t.TempDir()
	install := exec.CommandContext(t.Context(), "go", "install", h2spec)
	install.Dir = dir // outside the module, whose dependencies are not h2spec's
	install.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=-mod=mod")
	out, err := install.CombinedOutput()
	require.NoError(t, err, "%s", out)

	of, client := certificate(t)
	of.NextProtos = []string{"h2", "http/1.1"}
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or an answer overtakes the error of a body that is too long
		_, _ = io.WriteString(w, "hello\n")
	})
	wanted := runH2spec(t, filepath.Join(dir, "h2spec"), overPackageNet(t, of, answer))
	for name, serve := range ways {
		t.Run(name, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				got := runH2spec(t, filepath.Join(dir, "h2spec"), serve(side{backend, of, client}, t, answer))
				require.Equal(t, wanted, got)
			})
		})
	}
}

func overPackageNet(t *testing.T, of *tls.Config, h http.Handler) string {
	s := httptest.NewUnstartedServer(h)
	s.TLS, s.EnableHTTP2 = of.Clone(), true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// runH2spec returns the cases that failed, of some 145.
func runH2spec(t *testing.T, path, addr string) []string {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	report := filepath.Join(t.TempDir(), "report.xml")
	// -o is how many seconds h2spec waits for an answer. It exits with 1 if a case fails.
	out, _ := exec.CommandContext(t.Context(), path, "-h", host, "-p", port, "-t", "-k", "-o", "5", "-j", report).CombinedOutput()
	text, err := os.ReadFile(report)
	require.NoError(t, err, "%s", out)
	var suites struct {
		Suites []struct {
			Cases []struct {
				Package string    `xml:"package,attr"`
				Name    string    `xml:"classname,attr"`
				Failure *struct{} `xml:"failure"`
				Error   *struct{} `xml:"error"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	require.NoError(t, xml.Unmarshal(text, &suites), "%s", text)
	var failed []string
	count := 0
	for _, s := range suites.Suites {
		for _, c := range s.Cases {
			count++
			if c.Failure != nil || c.Error != nil {
				failed = append(failed, c.Package+": "+c.Name)
			}
		}
	}
	require.Greater(t, count, 100, "%s", out)
	t.Logf("%d cases, %d failed: %q", count, len(failed), failed)
	return failed
}
