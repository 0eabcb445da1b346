package natscluster_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/process/natscluster"
)

// A node with the right token, over TLS, calls a process of the node with the server. Nodes
// without the token, or that do not trust the certificate, are refused.
func TestAnEmbeddedServerAsksForATokenAndForTLS(t *testing.T) {
	web := httptest.NewTLSServer(nil) // has a certificate for 127.0.0.1
	defer web.Close()
	trusted := x509.NewCertPool()
	trusted.AddCert(web.Certificate())

	cfg := testConfig("")
	cfg.Embedded.Configure = func(o *server.Options) {
		o.Authorization = "a secret"
		o.TLSConfig, o.TLS, o.TLSTimeout = &tls.Config{Certificates: web.TLS.Certificates}, true, patience.Limit.Seconds()
		o.AuthTimeout = patience.Limit.Seconds()
	}
	cfg.Options = []nats.Option{nats.Token("a secret")}
	host := join(t, cfg)
	require.True(t, strings.HasPrefix(host.URL(), "tls://"), host.URL())

	for what, options := range map[string][]nats.Option{
		"no token":        {nats.Secure(&tls.Config{RootCAs: trusted})},
		"another token":   {nats.Secure(&tls.Config{RootCAs: trusted}), nats.Token("a guess")},
		"another trust":   {nats.Secure(&tls.Config{RootCAs: x509.NewCertPool()}), nats.Token("a secret")},
		"no certificates": {nats.Token("a secret")},
	} {
		other := testConfig(host.URL())
		other.Options = options
		_, err := natscluster.Join(t.Context(), other)
		require.Error(t, err, what)
		if strings.Contains(what, "token") {
			require.ErrorIs(t, err, nats.ErrAuthorization, what)
		} else {
			var unknown *tls.CertificateVerificationError
			require.ErrorAs(t, err, &unknown, what)
		}
	}

	other := testConfig(host.URL())
	other.Options = []nats.Option{nats.Secure(&tls.Config{RootCAs: trusted}), nats.Token("a secret")}
	c := join(t, other)
	eventually(t, func() bool { return len(c.Nodes()) == 1 && len(host.Nodes()) == 1 })
	ref, err := process.Go(host.System(), process.Options{}, calculator)
	require.NoError(t, err)
	got, err := process.Call[question, answer](t.Context(), c.System(), ref.PID(), question{2, 3})
	require.NoError(t, err)
	require.Equal(t, answer{5}, got)
}
