package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

var program string

func TestMain(m *testing.M) { conntest.Main(m, func(path string) { program = path }) }

// upstream serves each connection by serve until the end of the test.
func upstream(t *testing.T, serve func(c *net.TCPConn)) net.Addr {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	go conntest.ServeEach(ln, func(_ int, c net.Conn) {
		defer c.Close()
		serve(c.(*net.TCPConn))
	})
	return ln.Addr()
}

// echo copies by plain calls: package net keeps the pipes it splices with until a collection.
func echo(c *net.TCPConn) { _, _ = io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{c}) }

// through starts a proxy to the address, until the end of the test.
func through(t *testing.T, backend string, workers int, to net.Addr) (s *server.Server, addr net.Addr) {
	t.Helper()
	listening := make(chan net.Addr, 1)
	s = &server.Server{Addr: "127.0.0.1:0", Backend: backend, Workers: workers, Listening: func(a net.Addr) { listening <- a }}
	p := &proxy{dialer: server.Dialer{Group: s.Group}, to: to.String()}
	s.Handler = server.Sequential(p.serve)
	served := make(chan error, 1)
	go func() { served <- s.ListenAndServe() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), conntest.Patience)
		defer cancel()
		if err := s.Shutdown(ctx); !errors.Is(err, server.ErrServerClosed) { // the test may have shut it down
			require.NoError(t, err)
		}
		require.ErrorIs(t, conntest.Receive(t, served), server.ErrServerClosed)
	})
	return s, conntest.Receive(t, listening)
}

func dial(t *testing.T, addr net.Addr) *net.TCPConn {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr.String(), conntest.Patience)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(conntest.Patience)))
	return c.(*net.TCPConn)
}

// noise is random bytes.
func noise(n int, seed byte) []byte {
	p := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(p)
	return p
}

// Each byte comes back in its place, and the end of the client's bytes is passed on.
func TestClientsExchangeBytesThroughTheProxy(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		s, addr := through(t, backend, workers, upstream(t, echo))
		conntest.Crowd(t, 20, 20, func(i int) error {
			c, err := net.DialTimeout("tcp", addr.String(), conntest.Patience)
			if err != nil {
				return err
			}
			defer c.Close()
			sent := noise(1+i*30_000, byte(i))
			go func() {
				_, _ = c.Write(sent)
				_ = c.(*net.TCPConn).CloseWrite()
			}()
			got, err := io.ReadAll(c)
			if err == nil && !bytes.Equal(got, sent) {
				err = fmt.Errorf("%d bytes came back for %d", len(got), len(sent))
			}
			return err
		})
		conntest.Eventually(t, func() bool { return s.Group().Len() == 0 })
	})
}

// Either side may end its bytes first, and still gets those of the other.
func TestTheProxyPassesHalfClosesOn(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		got := make(chan string, 2)
		s, addr := through(t, backend, workers, upstream(t, func(c *net.TCPConn) {
			p, _ := io.ReadAll(c)
			got <- string(p)
			_, _ = io.WriteString(c, "after your end")
		}))
		c := dial(t, addr)
		_, err := io.WriteString(c, "request")
		require.NoError(t, err)
		require.NoError(t, c.CloseWrite())
		p, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Equal(t, []string{"request", "after your end"}, []string{conntest.Receive(t, got), string(p)})

		other, addr := through(t, backend, workers, upstream(t, func(c *net.TCPConn) {
			_, _ = io.WriteString(c, "before your bytes")
			_ = c.CloseWrite()
			p, _ := io.ReadAll(c)
			got <- string(p)
		}))
		c = dial(t, addr)
		p, err = io.ReadAll(c)
		require.NoError(t, err)
		_, err = io.WriteString(c, "late")
		require.NoError(t, err)
		require.NoError(t, c.CloseWrite())
		require.Equal(t, []string{"before your bytes", "late"}, []string{string(p), conntest.Receive(t, got)})
		conntest.Eventually(t, func() bool { return s.Group().Len()+other.Group().Len() == 0 })
	})
}

// A client or a server that goes away takes the other side along.
func TestTheProxyEndsBothSides(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		begun, ends := make(chan struct{}), make(chan error, 1)
		s, addr := through(t, backend, workers, upstream(t, func(c *net.TCPConn) {
			p := make([]byte, 1)
			_, err := c.Read(p)
			if err == nil && p[0] == 'r' {
				_ = c.SetLinger(0)
				return
			}
			close(begun)
			_, err = io.ReadAll(c)
			ends <- err
		}))
		c := dial(t, addr)
		_, err := c.Write([]byte("r"))
		require.NoError(t, err)
		_, err = io.ReadAll(c)
		require.Error(t, err, "the server has reset its side")
		c = dial(t, addr)
		_, err = c.Write([]byte("x"))
		require.NoError(t, err)
		require.NoError(t, c.SetLinger(0))
		_ = conntest.Receive(t, begun) // a proxy need not dial for a client that has reset its connection
		require.NoError(t, c.Close())
		_ = conntest.Receive(t, ends)
		conntest.Eventually(t, func() bool { return s.Group().Len() == 0 })
	})
}

// Much goes both ways at once, and arrives as it was sent.
func TestTheProxyCarriesMuchBothWays(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		const size = 4 << 20
		there, back := noise(size, 1), noise(size, 2)
		sums := make(chan [sha256.Size]byte, 2)
		exchange := func(c *net.TCPConn, p []byte) {
			wrote := make(chan struct{})
			go func() {
				defer close(wrote)
				_, _ = c.Write(p)
				_ = c.CloseWrite()
			}()
			got := sha256.New()
			_, _ = io.Copy(got, struct{ io.Reader }{c})
			<-wrote // the caller closes c
			sums <- [sha256.Size]byte(got.Sum(nil))
		}
		_, addr := through(t, backend, workers, upstream(t, func(c *net.TCPConn) { exchange(c, back) }))
		exchange(dial(t, addr), there)
		want := [][sha256.Size]byte{sha256.Sum256(there), sha256.Sum256(back)}
		require.ElementsMatch(t, want, [][sha256.Size]byte{conntest.Receive(t, sums), conntest.Receive(t, sums)})
	})
}

// A shutdown waits for connections that still carry something.
func TestAShutdownOfTheProxyWaitsForItsConnections(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		s, addr := through(t, backend, workers, upstream(t, echo))
		c := dial(t, addr)
		say := func(text string) {
			t.Helper()
			_, err := io.WriteString(c, text)
			require.NoError(t, err)
			p := make([]byte, len(text))
			_, err = io.ReadFull(c, p)
			require.NoError(t, err)
			require.Equal(t, text, string(p))
		}
		say("before")
		down := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), conntest.Patience)
			defer cancel()
			down <- s.Shutdown(ctx)
		}()
		conntest.Eventually(t, func() bool { // it accepts no more
			late, err := net.Dial("tcp", addr.String())
			if err == nil {
				_ = late.Close()
			}
			return err != nil
		})
		say("meanwhile")
		require.NoError(t, c.CloseWrite())
		p, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Empty(t, p)
		require.NoError(t, conntest.Receive(t, down))
	})
}

func TestCommandLine(t *testing.T) {
	conntest.CommandLine(t, program, func(t *testing.T, c net.Conn) {
		p, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Empty(t, p, "nothing listens where the proxy dials")
	})
}
