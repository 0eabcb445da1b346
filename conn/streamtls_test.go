package conn_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// certificate is a self-signed one for localhost, and a pool that trusts it.
func certificate(t testing.TB) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, pool
}

// crypto/tls runs on a stream as it is: handshakes of both versions, megabytes each way,
// and the close-notify.
func TestTLSRunsOnStreamsUnmodified(t *testing.T) {
	cert, pool := certificate(t)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := sequential(t, backend, workers, func(_ *sched.Context, s *conn.Stream) error {
			c := tls.Server(s, &tls.Config{Certificates: []tls.Certificate{cert}})
			defer c.Close()
			_, err := io.Copy(c, c)
			return err
		})
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			conntest.Crowd(t, 20, 20, func(i int) error {
				raw, err := dial(f.addr)
				if err != nil {
					return err
				}
				c := tls.Client(raw, &tls.Config{RootCAs: pool, ServerName: "localhost", MinVersion: version, MaxVersion: version})
				defer c.Close()
				sent := noise[i*1000:]
				go func() {
					if _, err := c.Write(sent); err == nil {
						_ = c.CloseWrite()
					}
				}()
				h := sha256.New()
				if n, err := io.Copy(h, c); err != nil || int(n) != len(sent) {
					return fmt.Errorf("%d of %d bytes came back: %v", n, len(sent), err)
				}
				if want := sha256.Sum256(sent); string(h.Sum(nil)) != string(want[:]) {
					return fmt.Errorf("what came back is not what was sent")
				}
				return nil
			})
		}
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
	})
}

// The client's side runs on a stream, too.
func TestAStreamDialsWithTLS(t *testing.T) {
	cert, pool := certificate(t)
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}})
	require.NoError(t, err)
	defer ln.Close()
	conntest.ServeEach(ln, func(_ int, c net.Conn) {
		defer c.Close()
		_, _ = io.Copy(c, c)
	})
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		got := make(chan error, 1)
		_, err := f.Dial(ln.Addr(), conn.Sequential(func(_ *sched.Context, s *conn.Stream) error {
			c := tls.Client(s, &tls.Config{RootCAs: pool, ServerName: "localhost"})
			err := func() error {
				if _, err := c.Write([]byte("hello")); err != nil {
					return err
				}
				p := make([]byte, 5)
				if _, err := io.ReadFull(c, p); err != nil || string(p) != "hello" {
					return fmt.Errorf("read %q: %v", p, err)
				}
				return c.Close()
			}()
			got <- err
			return err
		}))
		require.NoError(t, err)
		require.NoError(t, conntest.Receive(t, got))
	})
}
