package server_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// serveInside serves in a bubble; end waits until that is over.
func serveInside(t *testing.T, s *server.Server) (addr string, end func()) {
	addrs, served := make(chan net.Addr, 1), make(chan error, 1)
	s.Addr = "127.0.0.1:0"
	s.Listening = func(a net.Addr) { addrs <- a }
	go func() { served <- s.ListenAndServe() }()
	return (<-addrs).String(), func() { require.ErrorIs(t, <-served, server.ErrServerClosed) }
}

// clientInside is an http.Client over a Dialer.
func clientInside() (*http.Client, *http.Transport) {
	d := &server.Dialer{TLS: &tls.Config{InsecureSkipVerify: true}}
	tr := &http.Transport{DialContext: new(server.Dialer).DialContext, DialTLSContext: d.DialTLSContext}
	return &http.Client{Transport: tr}, tr
}

// The handlers of server.HTTP run in the bubble, without and with TLS, and may use its channels.
func TestServerHTTPInABubble(t *testing.T) {
	cert, _ := conntest.Certificate(t)
	for scheme, config := range map[string]*tls.Config{"http": nil, "https": {Certificates: []tls.Certificate{cert}}} {
		t.Run(scheme, func(t *testing.T) {
			inBubbles(t, func(t *testing.T, s *server.Server) {
				asked, answer := make(chan string, 1), make(chan string, 1)
				s.TLS = config
				s.Handler = server.HTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, err := io.ReadAll(r.Body)
					require.NoError(t, err)
					asked <- string(body)
					_, _ = io.WriteString(w, <-answer)
				}))
				addr, end := serveInside(t, s)
				c, tr := clientInside()
				for range 3 { // on one connection
					go func() { answer <- "answer to " + <-asked }()
					resp, err := c.Post(scheme+"://"+addr, "text/plain", strings.NewReader("question"))
					require.NoError(t, err)
					body, err := io.ReadAll(resp.Body)
					require.NoError(t, err)
					require.Equal(t, "answer to question", string(body))
					require.NoError(t, resp.Body.Close())
				}
				require.NoError(t, s.Shutdown(t.Context()), "the idle connection is closed")
				end()
				tr.CloseIdleConnections()
				synctest.Wait()
			})
		})
	}
}

// Shutdown waits for a request that is under way, until its context ends.
func TestShutdownOfServerHTTPInABubble(t *testing.T) {
	for _, patient := range []bool{true, false} {
		inBubbles(t, func(t *testing.T, s *server.Server) {
			began, goOn := make(chan struct{}), make(chan struct{})
			hs := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				close(began)
				select {
				case <-goOn:
				case <-r.Context().Done():
				}
			})}
			s.Handler = server.HTTPServer(hs)
			addr, end := serveInside(t, s)
			c, tr := clientInside()
			answered := make(chan error, 1)
			go func() {
				resp, err := c.Get("http://" + addr)
				if err == nil {
					_ = resp.Body.Close()
				}
				answered <- err
			}()
			<-began
			ctx, cancel := context.WithCancel(t.Context())
			if patient {
				time.AfterFunc(time.Hour, cancel) // the bubble's time stands still
				hs.RegisterOnShutdown(func() { close(goOn) })
				require.NoError(t, s.Shutdown(ctx))
				require.NoError(t, <-answered)
			} else {
				hs.RegisterOnShutdown(cancel)
				require.ErrorIs(t, s.Shutdown(ctx), context.Canceled)
				require.Error(t, <-answered)
			}
			cancel()
			end()
			tr.CloseIdleConnections()
		})
	}
}

// A sequential handler over TLS runs in the bubble, and dials within it.
func TestASequentialHandlerOverTLSInABubble(t *testing.T) {
	cert, _ := conntest.Certificate(t)
	inBubbles(t, func(t *testing.T, s *server.Server) {
		s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
		lines := make(chan string, 1)
		s.Handler = server.Sequential(func(_ *sched.Context, st *server.Stream) error {
			p := make([]byte, 5)
			_, err := io.ReadFull(st, p)
			lines <- string(p)
			if err == nil {
				_, err = st.Write(p)
			}
			return err
		})
		addr, end := serveInside(t, s)
		d := &server.Dialer{TLS: &tls.Config{InsecureSkipVerify: true}}
		c, err := d.DialTLSContext(t.Context(), "tcp", addr)
		require.NoError(t, err)
		_, err = c.Write([]byte("hello"))
		require.NoError(t, err)
		require.Equal(t, "hello", <-lines)
		p := make([]byte, 5)
		_, err = io.ReadFull(c, p)
		require.NoError(t, err)
		require.Equal(t, "hello", string(p))
		require.NoError(t, c.Close())
		require.NoError(t, s.Shutdown(t.Context()))
		end()
	})
}
