package server_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// tallied counts the events of connections of the inner handler.
type tallied struct {
	server.Handler
	opens, drains, closes atomic.Int32
}

func (h *tallied) Unwrap() server.Handler { return h.Handler }

func (h *tallied) OnOpen(c *server.Conn) error {
	h.opens.Add(1)
	return h.Handler.OnOpen(c)
}

func (h *tallied) OnDrain(c *server.Conn) {
	h.drains.Add(1)
	h.Handler.OnDrain(c)
}

func (h *tallied) OnClose(c *server.Conn, err error) {
	h.closes.Add(1)
	h.Handler.OnClose(c, err)
}

func TestAWrapperSeesEveryOpenDrainAndClose(t *testing.T) {
	loop := func(_ *sched.Context, s *server.Stream) error {
		_, err := io.Copy(struct{ io.Writer }{s}, struct{ io.Reader }{s})
		return err
	}
	for name, c := range map[string]struct {
		of            func() server.Handler
		ask, answered string
	}{
		"callbacks":  {func() server.Handler { return echo{} }, "x", "x"},
		"sequential": {func() server.Handler { return server.Sequential(loop) }, "x", "x"},
		"HTTP":       {func() server.Handler { return server.WithLinger(server.HTTP(site()), 0) }, hello, "HTTP/1.1 200"},
		"HTTP, lent": {func() server.Handler { return server.WithLinger(server.HTTP(site()), forEver) }, hello, "HTTP/1.1 200"},
	} {
		t.Run(name, func(t *testing.T) {
			conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
				h := &tallied{Handler: &tallied{Handler: c.of()}}
				srv := &server.Server{Handler: h, Backend: backend, Workers: workers}
				srv.ConnConfig.LingerTimeout = forEver
				s := run(t, srv)
				for i := range 10 {
					client := s.dial()
					_, err := io.WriteString(client, c.ask)
					require.NoError(t, err)
					_, err = io.ReadFull(client, make([]byte, len(c.answered)))
					require.NoError(t, err)
					if i < 7 { // the others are there when the server shuts down
						require.NoError(t, client.Close())
					}
				}
				conntest.Eventually(t, func() bool { return h.closes.Load() == 7 },
					func() string { return fmt.Sprint(h.closes.Load(), " closes of 7") })
				shutDown(t, s)
				require.EqualValues(t, 10, h.opens.Load())
				if strings.HasPrefix(name, "HTTP") { // net/http may have closed one before
					require.LessOrEqual(t, h.drains.Load(), int32(3))
				} else {
					require.EqualValues(t, 3, h.drains.Load())
				}
				require.EqualValues(t, 10, h.closes.Load())
				require.EqualValues(t, 10, h.Handler.(*tallied).closes.Load(), "of one within another")
			})
		})
	}
}

// A wrapped HTTP has the workers, the backend and the protocols that it has without.
func TestAWrappedHTTPHasWhatItNeeds(t *testing.T) {
	of, client := httpsConfig(t)
	plain := run(t, &server.Server{Handler: server.HTTP(site()), TLS: of.Clone()})
	wrapped := run(t, &server.Server{Handler: &tallied{Handler: server.HTTP(site())}, TLS: of.Clone()})
	require.Equal(t, plain.Group().Backend(), wrapped.Group().Backend())
	require.Equal(t, plain.Group().Runtime().Workers(), wrapped.Group().Runtime().Workers())
	require.Equal(t, 2, majorOverTLS(t, wrapped, client))
}

func majorOverTLS(t *testing.T, s *running, cfg *tls.Config) int {
	t.Helper()
	tr := &http.Transport{TLSClientConfig: cfg.Clone(), ForceAttemptHTTP2: true}
	defer tr.CloseIdleConnections()
	r, err := (&http.Client{Transport: tr, Timeout: conntest.Patience}).Get("https://" + s.addr.String() + "/hello")
	require.NoError(t, err)
	defer r.Body.Close()
	_, err = io.Copy(io.Discard, r.Body)
	require.NoError(t, err)
	return r.ProtoMajor
}

// opaque is a handler around another one that hides it.
type opaque struct{ server.Handler }

func TestAHandlerThatHidesHTTPIsNoSilentMistake(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		s := run(t, &server.Server{Handler: opaque{server.HTTP(site())}, Backend: backend})
		for range 3 {
			c := s.dial()
			_, err := io.WriteString(c, hello)
			require.NoError(t, err)
			_, err = io.ReadFull(c, make([]byte, 12))
			require.NoError(t, err)
		}
		require.Equal(t, 1, s.log.Count("Unwrap"))
	})
}
