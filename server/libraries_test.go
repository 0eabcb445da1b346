package server_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/blocking"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// An origin answers each question when the test says so.
type origin struct {
	asked  chan struct{} // a question has arrived
	answer chan string
	gone   chan struct{} // a client has left without an answer
}

func newOrigin() *origin {
	return &origin{make(chan struct{}, 10), make(chan string), make(chan struct{}, 10)}
}

// serveLines answers lines.
func (o *origin) serveLines(t *testing.T, ln net.Listener) (addr string) {
	t.Cleanup(func() { _ = ln.Close() })
	conntest.ServeEach(ln, func(_ int, c net.Conn) {
		defer c.Close()
		in := bufio.NewReader(c)
		if _, err := in.ReadString('\n'); err != nil {
			return
		}
		o.asked <- struct{}{}
		left := make(chan struct{})
		go func() {
			_, _ = io.Copy(io.Discard, in)
			close(left)
		}()
		select {
		case text := <-o.answer:
			_, _ = fmt.Fprintln(c, text)
			<-left
		case <-left:
			o.gone <- struct{}{}
		}
	})
	return ln.Addr().String()
}

// ServeHTTP implements http.Handler.
func (o *origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.asked <- struct{}{}
	select {
	case text := <-o.answer:
		_, _ = fmt.Fprintln(w, text)
	case <-r.Context().Done():
		o.gone <- struct{}{}
	}
}

// askLine asks over a connection, as code that knows net.Conn alone.
func askLine(c net.Conn) (string, error) {
	out := bufio.NewWriter(c)
	_, _ = out.WriteString("question\n") // Flush has the error
	if err := out.Flush(); err != nil {
		return "", err
	}
	return bufio.NewReader(c).ReadString('\n')
}

// askedBy is the key of a value that a library adds to a context.
type askedBy struct{}

// A libraryCall is one of a library in a sequential handler.
type libraryCall func(cx *sched.Context, d *server.Dialer) (string, error)

func TestLibrariesInASequentialHandlerHoldNoWorkerAndEndWithIt(t *testing.T) {
	cert, pool := conntest.Certificate(t)
	for name, prepare := range map[string]func(t *testing.T, o *origin) libraryCall{
		"bufio over a Stream": func(t *testing.T, o *origin) libraryCall {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			addr := o.serveLines(t, ln)
			return func(cx *sched.Context, d *server.Dialer) (string, error) {
				c, err := d.DialStream(cx, "tcp", addr)
				if err != nil {
					return "", err
				}
				defer c.Close()
				return askLine(c)
			}
		},
		"crypto/tls over a Stream": func(t *testing.T, o *origin) libraryCall {
			ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}})
			require.NoError(t, err)
			addr := o.serveLines(t, ln)
			return func(cx *sched.Context, d *server.Dialer) (string, error) {
				raw, err := d.DialStream(cx, "tcp", addr)
				if err != nil {
					return "", err
				}
				defer raw.Close()
				c := tls.Client(raw, &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"})
				if err := c.HandshakeContext(cx); err != nil {
					return "", err
				}
				return askLine(c)
			}
		},
		"a library that dials by DialContext": func(t *testing.T, o *origin) libraryCall {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			addr := o.serveLines(t, ln)
			return func(cx *sched.Context, d *server.Dialer) (string, error) {
				ctx, cancel := context.WithTimeout(cx, conntest.Patience)
				defer cancel()
				c, err := d.DialContext(ctx, "tcp", addr)
				if err != nil {
					return "", err
				}
				defer c.Close()
				return askLine(c)
			}
		},
		"a library that dials by DialTLSContext": func(t *testing.T, o *origin) libraryCall {
			ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}})
			require.NoError(t, err)
			addr := o.serveLines(t, ln)
			return func(cx *sched.Context, d *server.Dialer) (string, error) {
				secret := *d
				secret.TLS = &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"}
				c, err := secret.DialTLSContext(context.WithValue(cx, askedBy{}, "a library"), "tcp", addr)
				if err != nil {
					return "", err
				}
				defer c.Close()
				return askLine(c)
			}
		},
		"net/http, on a pool of goroutines": func(t *testing.T, o *origin) libraryCall {
			hs := httptest.NewServer(o)
			t.Cleanup(hs.Close)
			threads := blocking.New(blocking.Config{})
			t.Cleanup(func() { require.NoError(t, threads.Close()) })
			return func(cx *sched.Context, d *server.Dialer) (string, error) {
				tr := &http.Transport{DialContext: d.DialContext}
				defer tr.CloseIdleConnections()
				r, err := http.NewRequestWithContext(cx, http.MethodGet, hs.URL, nil)
				if err != nil {
					return "", err
				}
				return blocking.Do(cx, threads, func() (string, error) {
					resp, err := (&http.Client{Transport: tr}).Do(r)
					if err != nil {
						return "", err
					}
					defer resp.Body.Close()
					p, err := io.ReadAll(resp.Body)
					return string(p), err
				})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				o := newOrigin()
				testCall(t, backend, o, prepare(t, o))
			})
		})
	}
}

// testCall makes calls in a handler on one worker.
func testCall(t *testing.T, backend string, o *origin, ask libraryCall) {
	streams, results := make(chan *server.Stream, 1), make(chan error, 1)
	s := &server.Server{Workers: 1, Backend: backend}
	d := &server.Dialer{Group: s.Group}
	s.Handler = server.Sequential(func(cx *sched.Context, s *server.Stream) error {
		in := bufio.NewReader(s)
		for {
			line, err := in.ReadString('\n')
			switch {
			case err == io.EOF:
				return nil
			case err == nil && line == "ask\n":
				streams <- s
				line, err = ask(cx, d)
				results <- err
			}
			if err == nil {
				_, err = io.WriteString(s, line)
			}
			if err != nil {
				return err
			}
		}
	})
	r := run(t, s)
	other := r.dial()
	begin := func() (net.Conn, *server.Stream) {
		c := r.dial()
		_, err := io.WriteString(c, "ask\n")
		require.NoError(t, err)
		conntest.Receive(t, o.asked, "no question arrives")
		return c, conntest.Receive(t, streams)
	}

	c, _ := begin()
	roundTrip(t, other, "served while the library waits\n")
	o.answer <- "answer"
	require.NoError(t, conntest.Receive(t, results))
	line, err := bufio.NewReader(c).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "answer\n", line)

	for name, end := range map[string]func(c net.Conn, s *server.Stream){
		"the client resets": func(c net.Conn, _ *server.Stream) { require.NoError(t, resetPeer(c)) },
		"Handle.Abort":      func(_ net.Conn, s *server.Stream) { require.NoError(t, s.Handle().Abort()) },
	} {
		c, s := begin()
		end(c, s)
		conntest.Receive(t, o.gone, name)
		require.Error(t, conntest.Receive(t, results), name)
		roundTrip(t, other, "served after that\n")
	}
	_, s2 := begin()
	done := make(chan error, 1)
	go func() { done <- r.Close() }()
	conntest.Receive(t, o.gone, "Server.Close")
	require.Error(t, conntest.Receive(t, results))
	require.NoError(t, conntest.Receive(t, done))
	require.Error(t, s2.Context().Err())
}

func resetPeer(c net.Conn) error {
	return errors.Join(c.(*net.TCPConn).SetLinger(0), c.Close())
}

// A task that was started with Go is aborted within the call of a library.
func TestAnAbortOfATaskEndsTheCallOfALibrary(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		o := newOrigin()
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		addr := o.serveLines(t, ln)
		c := newClient(t, backend, 1, false)
		h := sched.Go(c.group.Runtime(), func(cx *sched.Context) (string, error) {
			s, err := c.DialStream(cx, "tcp", addr)
			if err != nil {
				return "", err
			}
			defer s.Close()
			return askLine(s)
		})
		conntest.Receive(t, o.asked)
		h.Abort()
		conntest.Receive(t, o.gone)
		_, err = h.Wait(t.Context())
		require.ErrorIs(t, err, sched.ErrCanceled)
	})
}
