package server_test

import (
	"fmt"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

// closing is a server whose ConnState tells of each connection in a state, and of each end.
func closing(state http.ConnState, got, ended chan net.Conn, h http.Handler) *http.Server {
	return &http.Server{Handler: h, ConnState: func(c net.Conn, s http.ConnState) {
		switch s {
		case state:
			got <- c
		case http.StateClosed:
			ended <- c
		}
	}}
}

// Close of a connection that ConnState got reports StateClosed at once, in each state of the
// connection, though the peer does nothing.
func TestClosingWhatConnStateGaveIsToldAtOnce(t *testing.T) {
	of, client := httpsConfig(t)
	for _, state := range []http.ConnState{http.StateNew, http.StateIdle, http.StateActive} {
		t.Run(state.String(), func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				for _, secure := range []bool{false, true} {
					got, ended := make(chan net.Conn, 1), make(chan net.Conn, 1)
					release := make(chan bool)
					site := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						if state == http.StateActive {
							<-release
						}
						fmt.Fprint(w, "hello")
					})
					hs := closing(state, got, ended, site)
					srv := &server.Server{Handler: server.WithLinger(server.HTTPServer(hs), httpLinger), Backend: backend}
					srv.ConnConfig.LingerTimeout = forEver
					side := &httpSide{T: t, ours: true}
					if secure {
						srv.TLS, side.tls = of, client
					}
					s := run(t, srv)
					side.addr = s.addr.String()
					w := side.dial()
					if state != http.StateNew {
						w.send(hello)
					}
					if state == http.StateIdle {
						require.Contains(t, w.answer("GET"), "hello")
						side.idle()
					}
					c := conntest.Receive(t, got)
					require.NoError(t, c.Close())
					require.ErrorIs(t, c.Close(), net.ErrClosed)
					close(release)
					require.Equal(t, c, conntest.Receive(t, ended))
					require.Equal(t, `"", end: <nil>`, w.end(), "no answer leaves after Close")
				}
			})
		})
	}
}
