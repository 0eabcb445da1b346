package server_test

import (
	"context"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// SetKeepAlivesEnabled(false) ends idle connections, each time, and makes each later answer the
// last one of its connection. Only the clients' requests reach the http.Server's functions.
func TestDisablingKeepAlivesClosesIdleConnections(t *testing.T) {
	for name, off := range map[string]bool{"general OPTIONS": false, "OPTIONS to the handler": true} {
		t.Run(name, func(t *testing.T) {
			var hs *http.Server
			strangers := make(chan string, 100)
			configure := func() *http.Server {
				know := func(c net.Conn) {
					if _, ok := c.RemoteAddr().(*net.TCPAddr); !ok {
						strangers <- c.RemoteAddr().String()
					}
				}
				hs = &http.Server{
					DisableGeneralOptionsHandler: off,
					Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						if r.Method != "GET" {
							strangers <- r.Method
						}
						site().ServeHTTP(w, r)
					}),
					ConnState:   func(c net.Conn, _ http.ConnState) { know(c) },
					ConnContext: func(ctx context.Context, c net.Conn) context.Context { know(c); return ctx },
				}
				return hs
			}
			withAndWithoutTLS(t, configure, func(h *httpSide) {
				for range 3 {
					var idle []*httpWire
					for range 5 {
						w := h.dial()
						w.send(hello)
						require.Contains(h.T, w.answer("GET"), "close=false")
						idle = append(idle, w)
					}
					fresh := h.dial()
					h.idle()
					hs.SetKeepAlivesEnabled(false)
					for _, w := range idle {
						require.Equal(h.T, `"", end: <nil>`, w.end())
					}
					fresh.send(hello)
					require.Contains(h.T, fresh.answer("GET"), "close=true")
					require.Equal(h.T, `"", end: <nil>`, fresh.end())
					hs.SetKeepAlivesEnabled(true)
				}
			})
			require.Empty(t, strangers)
		})
	}
}

// The same while connections become idle: none stays.
func TestDisablingKeepAlivesMissesNoConnection(t *testing.T) {
	var hs *http.Server
	configure := func() *http.Server {
		hs = &http.Server{Handler: site()}
		return hs
	}
	onHTTP(t, configure, func(h *httpSide) {
		const conns = 20
		ended := make(chan string, conns)
		half := make(chan bool, conns)
		for i := range conns {
			w := h.dial()
			go func() {
				for n := 0; ; n++ {
					if _, err := w.Write([]byte(hello)); err != nil {
						break
					}
					if a := w.answer("GET"); a[:4] == "no a" {
						break
					}
					if n == i/2 {
						half <- true
						if i%2 == 0 {
							break // it is idle, or about to be
						}
					}
				}
				ended <- w.end()
			}()
		}
		for range conns / 2 {
			conntest.Receive(h.T, half)
		}
		hs.SetKeepAlivesEnabled(false)
		for range conns {
			require.Contains(h.T, conntest.Receive(h.T, ended), "end: <nil>")
		}
	})
}
