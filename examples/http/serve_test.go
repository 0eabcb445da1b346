package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

func TestPagesAndEchoes(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		s := serve(t, backend, 2)
		c := s.dial() // one connection for all: keep-alive
		in := bufio.NewReader(c)
		big := strings.Repeat("0123456789abcdef", 1<<16) // 1 MiB
		for _, e := range []struct{ method, target, fields, body, want, contentType string }{
			{"GET", "/plaintext", "", "", plaintext, "text/plain"},
			{"GET", "/json", "", "", json, "application/json"},
			{"HEAD", "/plaintext", "", "", "", "text/plain"},
			{"HEAD", "/", "User-Agent: x\r\n", "", "", "text/html; charset=utf-8"},
			{"GET", "/", "", "", "", "application/octet-stream"},
			{"GET", "/anything?q", "", "", "", "application/octet-stream"},
			{"POST", "/", "Content-Length: 4\r\n", "body", "body", "application/octet-stream"},
			{"PUT", "/plaintext", "Content-Length: 4\r\n", "body", "body", "application/octet-stream"},
			{"POST", "/", "Content-Length: 0\r\n", "", "", "application/octet-stream"},
			{"POST", "/", fmt.Sprintf("Content-Length: %d\r\n", len(big)), big, big, "application/octet-stream"},
			{"POST", "/", "Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n7;x=y\r\n, world\r\n0\r\nX: y\r\n\r\n", "hello, world", "application/octet-stream"},
			{"POST", "/", "Transfer-Encoding: chunked\r\n", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(big), big), big, "application/octet-stream"},
			{"HEAD", "/", "Content-Length: 4\r\n", "body", "", "application/octet-stream"},
		} {
			before := time.Now().Truncate(time.Second)
			sent := make(chan error, 1)
			go func() {
				_, err := io.WriteString(c, e.method+" "+e.target+" HTTP/1.1\r\nHost: a\r\n"+e.fields+"\r\n"+e.body)
				sent <- err
			}()
			resp, body := readResponse(t, in, e.method)
			require.NoError(t, conntest.Receive(t, sent))
			require.Equal(t, 200, resp.StatusCode)
			require.True(t, e.want == body, "%s %s: %d bytes", e.method, e.target, len(body))
			require.Equal(t, e.contentType, resp.Header.Get("Content-Type"))
			require.False(t, resp.Close)
			date, err := http.ParseTime(resp.Header.Get("Date"))
			require.NoError(t, err)
			require.False(t, date.Before(before.Add(-time.Second)) || date.After(time.Now().Add(time.Second)), "Date is %v", date)
			if e.method == "HEAD" {
				require.Positive(t, resp.ContentLength)
			}
		}
		_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\nUser-Agent: x\r\nConnection: close\r\n\r\n")
		require.NoError(t, err)
		resp, page := readResponse(t, in, "GET")
		require.True(t, resp.Close)
		for _, part := range []string{"<dd>" + backend + "</dd>", "<dt>Workers</dt><dd>2</dd>", kernel(), runtime.Version()} {
			require.Contains(t, page, part)
		}
		_, err = in.ReadByte()
		require.ErrorIs(t, err, io.EOF)
	})
}

func TestPipelinesAreAnsweredInOrder(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		s := serve(t, backend, workers)
		conntest.Each(t, 8, func(int) error {
			c, err := s.connect()
			if err != nil {
				return err
			}
			defer c.Close()
			in := bufio.NewReader(c)
			for round := range 10 {
				if err := pipeline(c, in, 64, round*64, nil); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// pipeline sends n requests at once, which echo their numbers, and checks the
// answers, calling pause before each.
func pipeline(c net.Conn, in *bufio.Reader, n, first int, pause func(i int)) error {
	var burst strings.Builder
	for i := range n {
		if i%3 == 0 {
			burst.WriteString("GET /plaintext HTTP/1.1\r\nHost: a\r\n\r\n")
		} else {
			body := fmt.Sprint(first + i)
			fmt.Fprintf(&burst, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		}
	}
	sent := make(chan error, 1)
	go func() {
		_, err := io.WriteString(c, burst.String())
		sent <- err
	}()
	for i := range n {
		if pause != nil {
			pause(i)
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			return fmt.Errorf("answer %d: %w", i, err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		want := plaintext
		if i%3 != 0 {
			want = fmt.Sprint(first + i)
		}
		if resp.StatusCode != 200 || string(body) != want {
			return fmt.Errorf("answer %d is %d %q", i, resp.StatusCode, body)
		}
	}
	return <-sent
}

func TestTenThousandPipelinedRequestsAndASlowReader(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		s := serve(t, backend, 2)
		c := s.dial()
		require.NoError(t, c.(*net.TCPConn).SetReadBuffer(128<<10))
		err := pipeline(c, bufio.NewReaderSize(c, 4096), 10_000, 0, func(i int) {
			if i%500 == 0 {
				time.Sleep(2 * time.Millisecond) // answers pile up meanwhile
			}
		})
		require.NoError(t, err)
	})
}

func TestExpectContinueIsAnsweredBeforeTheBody(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		s := serve(t, backend, 1)
		c := s.dial()
		in := bufio.NewReader(c)
		for range 3 {
			_, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
			require.NoError(t, err)
			resp, _ := readResponse(t, in, "POST")
			require.Equal(t, 100, resp.StatusCode) // the body waits for it
			_, err = io.WriteString(c, "hello")
			require.NoError(t, err)
			resp, body := readResponse(t, in, "POST")
			require.Equal(t, 200, resp.StatusCode)
			require.Equal(t, "hello", body)
		}
	})
}

func TestNetHTTPsClientKeepsItsConnections(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		s := serve(t, backend, workers)
		transport := &http.Transport{MaxConnsPerHost: 5, MaxIdleConnsPerHost: 5, ExpectContinueTimeout: conntest.Patience}
		defer transport.CloseIdleConnections()
		client := &http.Client{Transport: transport, Timeout: conntest.Patience}
		conntest.Crowd(t, 200, 20, func(i int) error {
			body := strings.Repeat(fmt.Sprint(i, ";"), i*i)
			req, err := http.NewRequest("POST", "http://"+s.addr+"/echo", strings.NewReader(body))
			if err != nil {
				return err
			}
			switch i % 3 {
			case 1:
				req.ContentLength = -1 // chunked
			case 2:
				req.Header.Set("Expect", "100-continue")
			}
			resp, err := client.Do(req)
			if err != nil {
				return err
			}
			back, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err == nil && (resp.StatusCode != 200 || string(back) != body) {
				err = fmt.Errorf("request %d: %s, %d of %d bytes", i, resp.Status, len(back), len(body))
			}
			return err
		})
		conntest.Eventually(t, func() bool { return s.Group().Len() <= 5 }, "connections are used again")
	})
}

func TestShutdownFinishesTheRequestUnderWay(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		s := serve(t, backend, 2)
		idle, busy, begun := s.dial(), s.dial(), s.dial()
		for _, c := range []net.Conn{idle, busy, begun} {
			require.NoError(t, pipeline(c, bufio.NewReader(c), 1, 0, nil))
		}
		_, err := io.WriteString(busy, "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
		require.NoError(t, err)
		in := bufio.NewReader(busy)
		resp, _ := readResponse(t, in, "POST")
		require.Equal(t, 100, resp.StatusCode)
		const before, part = "GET /plaintext HTTP/1.1\r\nHost: a\r\n\r\n", "GET /plaintext HTTP/1.1\r\nHo"
		_, err = io.WriteString(begun, part)
		require.NoError(t, err)
		conntest.Eventually(t, func() bool { // Shutdown must not find it idle
			for c := range s.Group().Connections() {
				if c.RemoteAddr.String() == begun.LocalAddr().String() {
					return c.Received == uint64(len(before)+len(part))
				}
			}
			return false
		})
		done := make(chan error, 1)
		go func() { done <- s.Shutdown(context.Background()) }()
		_, err = io.ReadAll(idle)
		require.NoError(t, err)
		require.NoError(t, idle.Close())
		_, err = io.WriteString(busy, "hello")
		require.NoError(t, err)
		resp, body := readResponse(t, in, "POST")
		require.Equal(t, "hello", body)
		require.True(t, resp.Close)
		_, err = io.WriteString(begun, "st: a\r\n\r\n")
		require.NoError(t, err)
		resp, body = readResponse(t, bufio.NewReader(begun), "GET")
		require.Equal(t, plaintext, body)
		require.True(t, resp.Close)
		require.Empty(t, done)
		for _, c := range []net.Conn{busy, begun} {
			_, err = io.ReadAll(c)
			require.NoError(t, err)
			require.NoError(t, c.Close())
		}
		require.NoError(t, conntest.Receive(t, done))
	})
}

// A request that arrives while the connection's task does something else is answered before a
// shutdown ends the connection, which seems idle.
func TestShutdownAnswersARequestThatHasArrived(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		s := serve(t, backend, 1)
		c := s.dial()
		in := bufio.NewReader(c)
		require.NoError(t, pipeline(c, in, 1, 0, nil))
		held := make(chan struct{})
		for i := range s.Group().Connections() {
			require.NoError(t, i.Handle.Do(func(c *server.Conn) {
				close(held)
				for !c.Draining() {
					time.Sleep(time.Millisecond)
				}
			}))
		}
		conntest.Receive(t, held)
		_, err := io.WriteString(c, "GET /plaintext HTTP/1.1\r\nHost: a\r\n\r\n")
		require.NoError(t, err)
		done := make(chan error, 1)
		go func() { done <- s.Shutdown(context.Background()) }()
		_, body := readResponse(t, in, "GET")
		require.Equal(t, plaintext, body)
		_, err = in.ReadByte()
		require.ErrorIs(t, err, io.EOF)
		require.NoError(t, c.Close())
		require.NoError(t, conntest.Receive(t, done))
	})
}
