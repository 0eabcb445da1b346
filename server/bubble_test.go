package server_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// inBubbles runs a test in a bubble of testing/synctest on each backend. Nothing is left after it,
// of the bubble or outside.
func inBubbles(t *testing.T, test func(t *testing.T, s *server.Server)) {
	warm(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		conntest.Guard(t)
		log := &conntest.Log{}
		conntest.Report(t, log.String)
		synctest.Test(t, func(t *testing.T) { test(t, &server.Server{Backend: backend, Logger: log.Logger()}) })
	})
}

// warm makes what the process keeps before the test: the workers that Dialers share, and a channel
// of package net's resolver, which would be the bubble's of its first use.
func warm(t *testing.T) {
	ln, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	defer ln.Close()
	c, err := new(server.Dialer).DialContext(t.Context(), "tcp", ln.Addr().String())
	require.NoError(t, err)
	require.NoError(t, c.Close())
}

// pair is a connection of a server's listener, and the dialed end.
func pair(t *testing.T, ln net.Listener, dial func(ctx context.Context, network, addr string) (net.Conn, error)) (accepted, dialed net.Conn) {
	got := make(chan net.Conn, 1)
	go func() {
		c, err := ln.Accept()
		if err == nil {
			got <- c
		}
		close(got)
	}()
	dialed, err := dial(t.Context(), "tcp", ln.Addr().String())
	require.NoError(t, err)
	accepted = <-got
	require.NotNil(t, accepted)
	return accepted, dialed
}

func TestListenAndDialInABubble(t *testing.T) {
	inBubbles(t, func(t *testing.T, s *server.Server) {
		ln, err := s.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		for _, dial := range []func(ctx context.Context, network, addr string) (net.Conn, error){
			new(server.Dialer).DialContext, dialVia(s), new(net.Dialer).DialContext,
		} {
			a, b := pair(t, ln, dial)
			sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
			var both sync.WaitGroup
			for _, c := range []net.Conn{a, b} {
				both.Go(func() {
					_, err := c.Write(sent)
					require.NoError(t, err)
				})
				both.Go(func() {
					p := make([]byte, len(sent))
					_, err := io.ReadFull(c, p)
					require.NoError(t, err)
					require.True(t, bytes.Equal(sent, p))
				})
			}
			both.Wait()
			require.NoError(t, a.Close())
			require.NoError(t, b.Close())
		}
		accept := make(chan error, 1)
		go func() { _, err := ln.Accept(); accept <- err }()
		require.NoError(t, ln.Close())
		requireOpError(t, <-accept, "accept", net.ErrClosed)
	})
}

// As with package net, the bubble's time passes while no goroutine waits for the network, and a
// bubble ends although a listener and a connection are left open.
func TestTimePassesInABubbleWithAListener(t *testing.T) {
	inBubbles(t, func(t *testing.T, s *server.Server) {
		ln, err := s.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		a, b := pair(t, ln, new(server.Dialer).DialContext)
		began := time.Now()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, time.Hour, time.Since(began))
		_, err = a.Write([]byte("x"))
		require.NoError(t, err)
		_, err = io.ReadFull(b, make([]byte, 1))
		require.NoError(t, err)
		require.NoError(t, b.Close())
		require.NoError(t, s.Close())
	})
}

func TestAListenerOutlivesItsBubble(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		conntest.Guard(t)
		s := &server.Server{Backend: backend}
		var ln net.Listener
		synctest.Test(t, func(t *testing.T) {
			var err error
			ln, err = s.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
		})
		for range 2 {
			synctest.Test(t, func(t *testing.T) {
				a, b := pair(t, ln, dialVia(s))
				go a.Write([]byte("x"))
				_, err := io.ReadFull(b, make([]byte, 1))
				require.NoError(t, err)
				require.NoError(t, a.Close())
				require.NoError(t, b.Close())
			})
		}
		a, b := pair(t, ln, dialVia(s)) // and outside
		go a.Write([]byte("x"))
		_, err := io.ReadFull(b, make([]byte, 1))
		require.NoError(t, err)
		require.NoError(t, a.Close())
		require.NoError(t, b.Close())
		require.NoError(t, ln.Close())
	})
}

// Deadlines are real time, as those of package net are.
func TestDeadlinesInABubble(t *testing.T) {
	inBubbles(t, func(t *testing.T, s *server.Server) {
		ln, err := s.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		a, b := pair(t, ln, new(server.Dialer).DialContext)
		for _, c := range []net.Conn{a, b} {
			for range 3 { // set, and set again
				require.NoError(t, c.SetReadDeadline(time.Now().Add(5*time.Millisecond)))
				_, err = c.Read(make([]byte, 1))
				require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			}
			require.NoError(t, c.SetReadDeadline(time.Now().Add(-time.Second)))
			_, err = c.Read(make([]byte, 1))
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Hour)))
			time.Sleep(2 * time.Hour)
			require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Hour)))
			read := make(chan error, 1)
			go func() { _, err := c.Read(make([]byte, 1)); read <- err }()
			require.NoError(t, c.SetReadDeadline(time.Now().Add(5*time.Millisecond)))
			require.ErrorIs(t, <-read, os.ErrDeadlineExceeded)
			require.NoError(t, c.SetDeadline(time.Time{}))
		}
		go a.Write([]byte("x"))
		_, err = io.ReadFull(b, make([]byte, 1))
		require.NoError(t, err)
		require.NoError(t, a.Close())
		require.NoError(t, b.Close())
		require.NoError(t, ln.Close())
	})
}

// The dial of an address that never answers ends with its context, after real time.
func TestADialThatHangsEndsInABubble(t *testing.T) {
	warm(t)
	conntest.Guard(t)
	h := conntest.NewHole(t, netip.MustParseAddrPort("127.0.0.1:0"))
	h.Swallow(t)
	hole := h.Addr().String()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err := new(server.Dialer).DialContext(ctx, "tcp", hole)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		ctx, stop := context.WithCancel(t.Context())
		go stop()
		_, err = new(server.Dialer).DialContext(ctx, "tcp", hole)
		require.ErrorIs(t, err, context.Canceled)
		_, err = (&server.Dialer{Timeout: 20 * time.Millisecond}).DialContext(t.Context(), "tcp", hole)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	})
}

// Names are resolved by threads that all bubbles share.
func TestNamesAreResolvedInBubbles(t *testing.T) {
	for range 3 {
		inBubbles(t, func(t *testing.T, s *server.Server) {
			ln, err := s.Listen("tcp", "localhost:0")
			require.NoError(t, err)
			_, port, _ := net.SplitHostPort(ln.Addr().String())
			c, err := new(server.Dialer).DialContext(t.Context(), "tcp", net.JoinHostPort("localhost", port))
			require.NoError(t, err)
			require.NoError(t, c.Close())
			u, err := new(server.Dialer).DialContext(t.Context(), "udp", net.JoinHostPort("localhost", port))
			require.NoError(t, err)
			require.NoError(t, u.Close())
			require.NoError(t, ln.Close())
		})
	}
}

func TestShutdownInABubble(t *testing.T) {
	inBubbles(t, func(t *testing.T, s *server.Server) {
		ln, err := s.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		a, b := pair(t, ln, new(server.Dialer).DialContext)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, s.Shutdown(ctx), context.DeadlineExceeded, "nobody closes the connection")
		_, err = b.Read(make([]byte, 1))
		require.Error(t, err)
		require.NoError(t, b.Close())
		require.NoError(t, a.Close())
	})
}

func TestHTTPAndTLSInABubble(t *testing.T) {
	cert, _ := conntest.Certificate(t)
	inBubbles(t, func(t *testing.T, s *server.Server) {
		ln, err := s.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(w, r.Body)
		})}
		d := &server.Dialer{TLS: &tls.Config{InsecureSkipVerify: true}}
		tr := &http.Transport{DialContext: new(server.Dialer).DialContext, DialTLSContext: d.DialTLSContext}
		served := make(chan error, 2)
		ln2, err := s.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		go func() { served <- srv.Serve(ln) }()
		go func() {
			served <- srv.Serve(tls.NewListener(ln2, &tls.Config{Certificates: []tls.Certificate{cert}}))
		}()
		for _, url := range []string{"http://" + ln.Addr().String(), "https://" + ln2.Addr().String()} {
			for range 3 {
				resp, err := (&http.Client{Transport: tr}).Post(url, "text/plain", bytes.NewReader([]byte("hello")))
				require.NoError(t, err)
				body, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				require.Equal(t, "hello", string(body))
				require.NoError(t, resp.Body.Close())
			}
		}
		tr.CloseIdleConnections()
		require.NoError(t, srv.Close())
		for range 2 {
			require.ErrorIs(t, <-served, http.ErrServerClosed)
		}
	})
}

// A server with a handler has its workers in the bubble, so that the handler may use the bubble's
// channels. Until it is closed the bubble's time stands still.
func TestAHandlerInABubble(t *testing.T) {
	inBubbles(t, func(t *testing.T, s *server.Server) {
		opened := make(chan string, 1)
		addr := make(chan net.Addr, 1)
		s.Handler = server.Sequential(func(_ *sched.Context, st *server.Stream) error {
			opened <- "opened"
			_ = st.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
			_, err := st.Read(make([]byte, 1))
			opened <- err.Error()
			return nil
		})
		s.Addr = "127.0.0.1:0"
		s.Listening = func(a net.Addr) { addr <- a }
		served := make(chan error, 1)
		go func() { served <- s.ListenAndServe() }()
		c, err := net.Dial("tcp", (<-addr).String())
		require.NoError(t, err)
		require.Equal(t, "opened", <-opened)
		require.Contains(t, <-opened, "timeout")
		require.NoError(t, c.Close())
		require.NoError(t, s.Close())
		require.ErrorIs(t, <-served, server.ErrServerClosed)
	})
}
