package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

// A lateDrain has OnDrain wait until a client has said something that no worker has seen.
type lateDrain struct {
	server.Handler
	begun, said chan bool
}

func (h *lateDrain) Unwrap() server.Handler { return h.Handler }

func (h *lateDrain) OnDrain(c *server.Conn) {
	h.begun <- true
	<-h.said
	h.Handler.OnDrain(c)
}

// A request that is under way when the server begins to stop is answered: the first of a
// connection, and a later one. So a server that hands over loses none.
func TestShutdownServesARequestThatIsUnderWay(t *testing.T) {
	of, clientConfig := httpsConfig(t)
	for name, before := range map[string]int{"first": 0, "second": 1} {
		t.Run(name, func(t *testing.T) {
			conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
				for _, secure := range []bool{false, true} {
					h := &lateDrain{server.WithLinger(server.HTTP(site()), httpLinger), make(chan bool, 1), make(chan bool, 1)}
					srv := &server.Server{Handler: h, Backend: backend, Workers: workers}
					side := &httpSide{T: t, ours: true}
					if secure {
						srv.TLS, side.tls = of, clientConfig
					}
					srv.Conn.Linger = forEver
					s := run(t, srv)
					side.addr, side.s = s.addr.String(), s.Server
					w := side.dial()
					for range before {
						w.send(hello)
						require.Contains(t, w.answer("GET"), "hello")
					}
					conntest.Eventually(t, func() bool { return s.Group().Len() == 1 })
					side.idle()
					stopped := make(chan struct{})
					go func() { defer close(stopped); shutDown(t, s) }()
					conntest.Receive(t, h.begun)
					w.send(hello)
					h.said <- true
					answer := w.answer("GET")
					require.Contains(t, answer, "hello")
					require.Contains(t, answer, "close=true")
					require.Equal(t, `"", end: <nil>`, w.end())
					conntest.Receive(t, stopped)
				}
			})
		})
	}
}
