package servertest_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/nettest"

	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/server/servertest"
)

// noLeak fails the test if goroutines are left.
func noLeak(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		for end := time.Now().Add(patience.Limit); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				buf := make([]byte, 1<<20)
				t.Fatalf("goroutines left\n%s", buf[:runtime.Stack(buf, true)])
			}
		}
	})
}

func TestConnPassesWhatNetsConnsDo(t *testing.T) {
	noLeak(t)
	t.Run("pipe", func(t *testing.T) {
		nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) {
			a, b := servertest.Pipe(0)
			return a, b, func() { _ = a.Close(); _ = b.Close() }, nil
		})
	})
	t.Run("listener", func(t *testing.T) {
		ln := servertest.Listen(100)
		defer ln.Close()
		nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) {
			a, err := ln.Dial()
			if err != nil {
				return nil, nil, nil, err
			}
			b, err := ln.Accept()
			return a, b, func() { _ = a.Close(); _ = b.Close() }, err
		})
	})
}

func requireOpError(t *testing.T, err error, op string, is error) {
	t.Helper()
	var oe *net.OpError
	require.ErrorAs(t, err, &oe)
	require.Equal(t, op, oe.Op)
	require.ErrorIs(t, err, is)
}

func TestConnClosesByHalves(t *testing.T) {
	noLeak(t)
	a, b := servertest.Pipe(0)
	_, err := a.Write([]byte("question"))
	require.NoError(t, err)
	require.NoError(t, a.CloseWrite())
	_, err = a.Write([]byte("more"))
	requireOpError(t, err, "write", syscall.EPIPE)
	p, err := io.ReadAll(b)
	require.NoError(t, err)
	require.Equal(t, "question", string(p))
	_, err = b.Write([]byte("answer"))
	require.NoError(t, err)
	p = make([]byte, 6)
	_, err = io.ReadFull(a, p)
	require.NoError(t, err)
	require.Equal(t, "answer", string(p))

	require.NoError(t, a.CloseRead())
	_, err = a.Read(p)
	require.Equal(t, io.EOF, err)
	_, err = b.Write(p)
	requireOpError(t, err, "write", syscall.EPIPE)
	require.NoError(t, a.Close())
	requireOpError(t, a.Close(), "close", net.ErrClosed)
	requireOpError(t, a.CloseWrite(), "close", net.ErrClosed)
	requireOpError(t, a.SetDeadline(time.Now()), "set", net.ErrClosed)
	_, err = a.Read(nil)
	requireOpError(t, err, "read", net.ErrClosed)
	_, err = b.Read(p)
	require.Equal(t, io.EOF, err)
	require.NoError(t, b.Close())
}

// Bytes that were written before a Close are read after it.
func TestConnKeepsWhatWasWritten(t *testing.T) {
	a, b := servertest.Pipe(10)
	n, err := a.Write([]byte("0123456789"))
	require.NoError(t, err)
	require.Equal(t, 10, n)
	require.NoError(t, a.SetWriteDeadline(time.Now().Add(time.Millisecond)))
	n, err = a.Write([]byte("more"))
	require.Zero(t, n)
	requireOpError(t, err, "write", os.ErrDeadlineExceeded)
	_, err = io.ReadFull(b, make([]byte, 3))
	require.NoError(t, err)
	require.NoError(t, a.SetWriteDeadline(time.Now().Add(time.Millisecond)))
	n, err = a.Write([]byte("abcdef"))
	require.Equal(t, 3, n)
	requireOpError(t, err, "write", os.ErrDeadlineExceeded)
	require.NoError(t, a.Close())
	p, err := io.ReadAll(b)
	require.NoError(t, err)
	require.Equal(t, "3456789abc", string(p))
}

// In a bubble, time passes when all goroutines wait.
func TestConnWorksInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := servertest.Listen(0)
		served := make(chan error, 1)
		go func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					served <- err
					return
				}
				go func() {
					defer c.Close()
					_ = c.SetReadDeadline(time.Now().Add(time.Hour))
					_, err := io.Copy(c, c)
					if !errors.Is(err, os.ErrDeadlineExceeded) {
						t.Error(err)
					}
				}()
			}
		}()
		began := time.Now()
		c, err := ln.Dial()
		require.NoError(t, err)
		var readers sync.WaitGroup
		for range 3 {
			readers.Go(func() {
				_, err := c.Read(make([]byte, 1))
				require.Equal(t, io.EOF, err)
			})
		}
		readers.Wait()
		require.Equal(t, time.Hour, time.Since(began))
		require.NoError(t, c.Close())
		require.NoError(t, ln.Close())
		requireOpError(t, <-served, "accept", net.ErrClosed)
	})
}

func TestListenerClosesAndRefuses(t *testing.T) {
	noLeak(t)
	ln := servertest.Listen(0)
	a, err := ln.Dial()
	require.NoError(t, err)
	b, err := ln.Accept()
	require.NoError(t, err)
	require.Equal(t, a.LocalAddr(), b.RemoteAddr())
	require.Equal(t, ln.Addr(), b.LocalAddr())
	left, err := ln.Dial()
	require.NoError(t, err)
	require.NoError(t, ln.Close())
	requireOpError(t, ln.Close(), "close", net.ErrClosed)
	_, err = ln.Dial()
	requireOpError(t, err, "dial", syscall.ECONNREFUSED)
	_, err = ln.Accept()
	requireOpError(t, err, "accept", net.ErrClosed)
	_, err = left.Read(make([]byte, 1))
	require.Equal(t, io.EOF, err)
	_, err = a.Write([]byte("x"))
	require.NoError(t, err, "it was accepted")

	full := servertest.Listen(0)
	defer full.Close()
	for range 128 {
		_, err := full.Dial()
		require.NoError(t, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = full.DialContext(ctx, "tcp", "anywhere:80")
	requireOpError(t, err, "dial", context.DeadlineExceeded)
}

func TestNetHTTPRunsInMemory(t *testing.T) {
	noLeak(t)
	ln := servertest.Listen(0)
	body := make([]byte, 20<<20)
	_, _ = rand.Read(body)
	hs := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })}
	served := make(chan error, 1)
	go func() { served <- hs.Serve(ln) }()
	tr := &http.Transport{DialContext: ln.DialContext}
	r, err := (&http.Client{Transport: tr}).Post("http://memory/", "", bytes.NewReader(body))
	require.NoError(t, err)
	p, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	require.True(t, bytes.Equal(body, p))
	tr.CloseIdleConnections()
	require.NoError(t, hs.Shutdown(t.Context()))
	require.ErrorIs(t, <-served, http.ErrServerClosed)
}

func ExampleListen() {
	ln := servertest.Listen(0)
	defer ln.Close()
	go func() {
		_ = http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	}()
	client := &http.Client{Transport: &http.Transport{DialContext: ln.DialContext}}
	defer client.CloseIdleConnections()
	r, err := client.Get("http://memory/")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Body.Close()
	p, _ := io.ReadAll(r.Body)
	fmt.Println(string(p))
	// Output: hello
}

func ExamplePipe() {
	a, b := servertest.Pipe(0)
	fmt.Fprint(a, "hello") // is buffered
	_ = a.CloseWrite()
	p, _ := io.ReadAll(b)
	fmt.Println(string(p))
	// Output: hello
}
