package status

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/metrics"
	"github.com/suiro-go/suiro/server"
)

// ready is a proxy that is, and has no group.
type ready struct{}

func (ready) Ready() error              { return nil }
func (ready) Metrics() []metrics.Family { return new(Snapshot).Metrics() }
func (ready) Snapshot() *Snapshot       { return new(Snapshot) }
func (ready) Group() *server.Group      { return nil }
func (ready) Addrs() []net.Addr         { return nil }
func (ready) Stopping() bool            { return false }
func (ready) Dump(io.Writer) error      { return nil }

// ask is the answer to a GET of / by that name.
func ask(g Guard, host string, set func(*http.Request)) *http.Response {
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.Host = host
	if set != nil {
		set(r)
	}
	w := httptest.NewRecorder()
	g.Cover(Handler(ready{}, g.Hosts)).ServeHTTP(w, r)
	return w.Result()
}

func TestOnlyKnownHostsAreAnswered(t *testing.T) {
	g := Guard{Hosts: []string{"proxy.internal"}}
	for _, host := range []string{"127.0.0.1", "127.0.0.1:9090", "[::1]:9090", "[::1]", "localhost:9090", "LOCALHOST.", "Proxy.Internal:1"} {
		require.Equal(t, 200, ask(g, host, nil).StatusCode, host)
	}
	require.Equal(t, http.StatusForbidden, ask(g, "", nil).StatusCode, "the guard lets HTTP/1.0 read the metrics, not the console")
	for _, host := range []string{"attacker.example", "attacker.example:9090", "127.0.0.1.attacker.example", "localhost.attacker.example", "xproxy.internal"} {
		require.Equal(t, http.StatusMisdirectedRequest, ask(g, host, nil).StatusCode, host)
	}
}

func TestPagesAreNeitherSniffedNorFramed(t *testing.T) {
	for _, host := range []string{"localhost", "attacker.example"} {
		h := ask(Guard{}, host, nil).Header
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"))
		require.Equal(t, "DENY", h.Get("X-Frame-Options"))
		require.Contains(t, h.Get("Content-Security-Policy"), "frame-ancestors 'none'")
		require.NotContains(t, h.Get("Content-Security-Policy"), "unsafe")
		require.Equal(t, "no-store", h.Get("Cache-Control"))
	}
}

func TestTheConsoleKeepsItsOwnPolicy(t *testing.T) {
	require.Contains(t, ask(Guard{}, "localhost", nil).Header.Get("Content-Security-Policy"), "script-src 'self'; style-src 'self'; connect-src 'self'")
}

func TestATokenIsAskedFor(t *testing.T) {
	g := Guard{Token: "secret"}
	none := ask(g, "localhost", nil)
	require.Equal(t, http.StatusUnauthorized, none.StatusCode)
	require.Contains(t, none.Header.Get("WWW-Authenticate"), "Basic")
	for value, want := range map[string]int{"Bearer secret": 200, "bearer secret": 200, "Bearer wrong": 401, "Bearer ": 401, "Bearer secret2": 401, "secret": 401, "Digest secret": 401} {
		res := ask(g, "localhost", func(r *http.Request) { r.Header.Set("Authorization", value) })
		require.Equal(t, want, res.StatusCode, value)
	}
	require.Equal(t, 200, ask(g, "localhost", func(r *http.Request) { r.SetBasicAuth("anybody", "secret") }).StatusCode)
	require.Equal(t, 401, ask(g, "localhost", func(r *http.Request) { r.SetBasicAuth("secret", "wrong") }).StatusCode)
}
