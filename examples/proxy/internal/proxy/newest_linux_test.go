package proxy

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// answer is an origin of HTTP whose answers are its name. A request of /slow waits for free.
func answer(t *testing.T, name string, free <-chan struct{}) (o *origin, slow <-chan struct{}) {
	asked := make(chan struct{}, 100)
	o = listen(t, "127.0.0.1:0", func(c net.Conn) {
		for in := bufio.NewReader(c); ; {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			if r.URL.Path == "/slow" {
				asked <- struct{}{}
				<-free
			}
			_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(name), name)
		}
	})
	return o, asked
}

// A visitor is an HTTP client with one connection.
type visitor struct {
	net.Conn
	in *bufio.Reader
}

func visit(c net.Conn) *visitor { return &visitor{c, bufio.NewReader(c)} }

func (v *visitor) read() (body string, closes bool, err error) {
	res, err := http.ReadResponse(v.in, nil)
	if err != nil {
		return "", false, err
	}
	p, err := io.ReadAll(res.Body)
	return string(p), res.Close, err
}

func (v *visitor) ask(path string) (body string, closes bool, err error) {
	if _, err = io.WriteString(v, "GET "+path+" HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
		return "", false, err
	}
	return v.read()
}

// gone reports whether the connection has ended without a byte.
func (v *visitor) gone() bool {
	_, err := v.in.ReadByte()
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)
}

func webText(name, listen string, to *origin, more string) string {
	return fmt.Sprintf("[[route]]\nname = '%s'\nlisten = ['%s']\nupstream = [{address = 'tcp://%v'}]\n%s\n", name, listen, to.Addr(), more)
}

const anyHTTP, anyTCP = "http://127.0.0.1:0", "tcp://127.0.0.1:0"

func TestRequestsOnOldConnectionsTakeTheNewestConfiguration(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		free := make(chan struct{})
		a, slow := answer(t, "a", free)
		b, _ := answer(t, "b", nil)
		f := start(t, backend, webText("r", anyHTTP, a, ""))
		busy, idle := visit(f.dial()), visit(f.dial())
		body, _, err := idle.ask("/")
		require.NoError(t, err)
		require.Equal(t, "a", body)
		_, err = io.WriteString(busy, "GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
		require.NoError(t, err)
		conntest.Receive(t, slow)
		require.NoError(t, f.Reload(f.parse(webText("r", anyHTTP, b, ""))))
		for range 2 {
			body, _, err = idle.ask("/")
			require.NoError(t, err)
			require.Equal(t, "b", body)
		}
		close(free)
		body, _, err = busy.read()
		require.NoError(t, err)
		require.Equal(t, "a", body, "it was in flight")
		body, _, err = busy.ask("/")
		require.NoError(t, err)
		require.Equal(t, "b", body)
		require.EqualValues(t, 2, f.route().Active)
		require.NoError(t, f.Reload(f.parse(webText("r", anyHTTP, b, "max_connections = 2"))))
		f.refused()
	})
}

// A connection that has come in another way than the newest configuration wants ends: at once if
// it is idle, behind its answer otherwise.
func TestConnectionsOfAnotherWayInEndWithTheirRequest(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		free := make(chan struct{})
		a, slow := answer(t, "a", free)
		for name, next := range map[string]string{
			"the listener is gone":       webText("r", "http://127.0.0.2:0", a, "") + webText("s", "http://127.0.0.3:0", a, ""),
			"it speaks no HTTP any more": webText("r", anyTCP, a, ""),
			"proxy_from is another":      webText("r", anyHTTP, a, "proxy_from = ['127.0.0.2/32']"),
		} {
			f := start(t, backend, webText("r", anyHTTP, a, ""))
			busy, idle := visit(f.dial()), visit(f.dial())
			_, _, err := idle.ask("/")
			require.NoError(t, err)
			_, err = io.WriteString(busy, "GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
			require.NoError(t, err)
			conntest.Receive(t, slow)
			if name == "the listener is gone" {
				next = webText("other", "http://127.0.0.2:0", a, "")
			}
			require.NoError(t, f.Reload(f.parse(next)), name)
			require.True(t, idle.gone(), name)
			free <- struct{}{}
			body, closes, err := busy.read()
			require.NoError(t, err, name)
			require.Equal(t, "a", body)
			require.True(t, closes, name)
			require.True(t, busy.gone(), name)
			require.NoError(t, f.Close())
		}
	})
}

func TestAStreamTakesTheNewestRouteAndATunnelStays(t *testing.T) {
	s := newSecret(t, "a.example")
	conntest.Backends(t, func(t *testing.T, backend string) {
		named := func(name string) *origin {
			o, err := tls.Listen("tcp", "127.0.0.1:0", s.server())
			require.NoError(t, err)
			return serveAll(t, o, greet(name))
		}
		a, b := named("a"), named("b")
		const names = "server_names = ['a.example']\nheader_timeout = '1h'"
		f := start(t, backend, webText("r", anyTCP, a, names))
		tunnel := tls.Client(f.dial(), s.client("a.example"))
		require.NoError(t, readName(tunnel, "a"))
		early := f.dial()
		conntest.Eventually(t, func() bool { return f.Snapshot().Clients == 2 })
		require.NoError(t, f.Reload(f.parse(webText("r", anyTCP, b, names))))
		require.NoError(t, readName(tls.Client(early, s.client("a.example")), "b"))
		require.NoError(t, exchange(tunnel, "as before"))
	})
}

func TestSessionTicketsStayAsLongAsTheCertificate(t *testing.T) {
	s, other := newSecret(t, "localhost"), newSecret(t, "localhost")
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	use := func(s *secret) {
		for from, to := range map[string]string{s.cert: cert, s.key: key} {
			p, err := os.ReadFile(from)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(to, p, 0o600))
		}
	}
	conntest.Backends(t, func(t *testing.T, backend string) {
		use(s)
		a, _ := answer(t, "a", nil)
		text := webText("r", anyHTTP, a, fmt.Sprintf("tls = {certificate = '%s', key = '%s'}", cert, key))
		f := start(t, backend, text)
		client := s.client("localhost")
		client.ClientSessionCache = tls.NewLRUClientSessionCache(1)
		enter := func() (*visitor, bool) {
			c := tls.Client(f.dial(), client)
			v := visit(c)
			body, _, err := v.ask("/")
			require.NoError(t, err)
			require.Equal(t, "a", body)
			return v, c.ConnectionState().DidResume
		}
		enter()
		require.NoError(t, f.Reload(f.parse(text+"# changed")))
		_, resumed := enter()
		require.True(t, resumed)
		text = webText("another name", anyHTTP, a, fmt.Sprintf("tls = {certificate = '%s', key = '%s'}", cert, key))
		require.NoError(t, f.Reload(f.parse(text)))
		old, resumed := enter()
		require.True(t, resumed, "a route without a name has the one of its number, which changes")
		use(other)
		require.NoError(t, f.Reload(f.parse(text)))
		require.True(t, old.gone(), "its certificate is withdrawn")
		client.RootCAs = other.pool
		_, resumed = enter()
		require.False(t, resumed)
	})
}

func TestTurnsAndTheTokenFollowAReload(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		a, b := listen(t, "127.0.0.1:0", greet("a")), listen(t, "127.0.0.1:0", greet("b"))
		text := func(token string) string {
			return fmt.Sprintf("admin = '127.0.0.1:0'\nadmin_token = '%s'\n[[route]]\nlisten = ['tcp://127.0.0.1:0']\nupstream = [{address = 'tcp://%v'}, {address = 'tcp://%v'}]", token, a.Addr(), b.Addr())
		}
		f := start(t, backend, text("old"))
		c, err := dial(f.Admin().String())
		require.NoError(t, err)
		defer c.Close()
		v := visit(c)
		status := func(token string) int {
			_, err := fmt.Fprintf(v, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", token)
			require.NoError(t, err)
			res, err := http.ReadResponse(v.in, nil)
			require.NoError(t, err)
			_, err = io.Copy(io.Discard, res.Body)
			require.NoError(t, err)
			return res.StatusCode
		}
		require.Equal(t, 200, status("old"))
		var seen string
		for range 4 {
			name, err := greeting(f.addr())
			require.NoError(t, err)
			seen += name
			require.NoError(t, f.Reload(f.parse(text("new"))))
		}
		require.Equal(t, "abab", seen)
		require.Equal(t, 401, status("old"), "on a connection of before")
		require.Equal(t, 200, status("new"))
		bad := f.parse(text("newer"))
		bad.Workers = 100
		require.ErrorContains(t, f.Reload(bad), "workers is fixed at the start")
		require.Equal(t, 200, status("new"))
	})
}
