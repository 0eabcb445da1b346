package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

func TestRequestsOverTheLimitsAreRejectedAndTheConnectionCloses(t *testing.T) {
	for name, c := range map[string]struct {
		status  int
		request string
	}{
		"Content-Length": {413, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8388609\r\n\r\n"},
		"chunk":          {413, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n800001\r\n"},
		"chunks":         {413, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat(fmt.Sprintf("10000\r\n%s\r\n", strings.Repeat("x", 1<<16)), 128) + "1\r\n"},
		"line":           {414, "GET /" + strings.Repeat("x", 9000) + " HTTP/1.1\r\nHost: a\r\n\r\n"},
		"endless line":   {414, "GET /" + strings.Repeat("x", 9000)},
		"header":         {431, "GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 70_000) + "\r\n\r\n"},
		"fields":         {431, "GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X: y\r\n", 300) + "\r\n"},
		"endless header": {431, "GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 70_000)},
	} {
		t.Run(name, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				s := serve(t, backend, 1)
				conn := s.dial()
				sent := make(chan error, 1)
				go func() {
					_, err := io.WriteString(conn, c.request+"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
					sent <- err
				}()
				in := bufio.NewReader(conn)
				resp, _ := readResponse(t, in, "GET")
				require.Equal(t, c.status, resp.StatusCode)
				require.True(t, resp.Close)
				rest, err := io.ReadAll(in)
				require.NoError(t, err)
				require.Empty(t, rest)
				require.NoError(t, conntest.Receive(t, sent))
			})
		})
	}
}

// A head that trickles in gets the time of one head, however often a byte comes.
func TestAHeadThatTricklesInIsAnswered408(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		s := serve(t, backend, 1, func(h *handler) { h.timeouts.header = 100 * time.Millisecond })
		c := s.dial()
		require.NoError(t, pipeline(c, bufio.NewReader(c), 3, 0, nil))
		go func() {
			head := "GET / HTTP/1.1\r\nHost: a\r\nX: "
			for i := 0; ; i++ { // until the connection is closed
				b := "x"
				if i < len(head) {
					b = head[i : i+1]
				}
				if _, err := io.WriteString(c, b); err != nil {
					return
				}
				time.Sleep(10 * time.Millisecond) // any pause does: the head never ends
			}
		}()
		in := bufio.NewReader(c)
		resp, _ := readResponse(t, in, "GET")
		require.Equal(t, 408, resp.StatusCode)
		require.True(t, resp.Close)
		rest, err := io.ReadAll(in)
		require.NoError(t, err)
		require.Empty(t, rest)
		require.NoError(t, c.Close())
	})
}

// The time of one head is not taken off that of the next.
func TestTheNextHeadHasItsOwnTime(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		conntest.Punctual(t, 500*time.Millisecond, func(head time.Duration, alive func()) error {
			s := serve(t, backend, 1, func(h *handler) { h.timeouts.header = head })
			c := s.dial()
			in := bufio.NewReader(c)
			write := func(text string) {
				t.Helper()
				_, err := io.WriteString(c, text)
				require.NoError(t, err)
			}
			answered := func(method string, status int, want string) error {
				t.Helper()
				resp, body := readResponse(t, in, method)
				if resp.StatusCode == 408 {
					return errors.New("a head was answered 408")
				}
				require.Equal(t, status, resp.StatusCode)
				require.Equal(t, want, body)
				alive()
				return nil
			}
			c2 := s.dial() // the one worker has seen what c has sent when it has answered this
			beside := bufio.NewReader(c2)
			alive()
			// The first head comes in two parts; its body takes longer than a head
			// may; with its end comes the beginning of the second head.
			write("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-")
			if err := pipeline(c2, beside, 1, 0, nil); err != nil {
				return err
			}
			write("continue\r\nContent-Length: 5\r\n\r\n")
			if err := answered("POST", 100, ""); err != nil {
				return err
			}
			conntest.Rest(head+head/4, head, alive)
			write("helloGET /plaintext HT")
			if err := answered("POST", 200, "hello"); err != nil {
				return err
			}
			if err := pipeline(c2, beside, 3, 0, nil); err != nil { // a tick or more
				return err
			}
			write("TP/1.1\r\nHost: a\r\n\r\n")
			return answered("GET", 200, plaintext)
		})
	})
}

func TestABodyThatStopsIsAnswered408(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		s := serve(t, backend, 1, func(h *handler) { h.timeouts.body = 50 * time.Millisecond })
		c := s.dial()
		_, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel")
		require.NoError(t, err)
		resp, _ := readResponse(t, bufio.NewReader(c), "POST")
		require.Equal(t, 408, resp.StatusCode)
	})
}

func TestAnIdleConnectionIsClosedWithoutAWord(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		conntest.Punctual(t, 50*time.Millisecond, func(idle time.Duration, _ func()) error {
			s := serve(t, backend, 2, func(h *handler) { h.timeouts.idle = idle })
			used := s.dial()
			in := bufio.NewReader(used)
			if err := pipeline(used, in, 5, 0, nil); err != nil {
				return err
			}
			for _, r := range []io.Reader{s.dial(), in} {
				rest, err := io.ReadAll(r)
				require.NoError(t, err)
				require.Empty(t, string(rest))
			}
			return nil
		})
	})
}

// A plain keep-alive request allocates nothing in steady state.
func TestPlainRequestsDoNotAllocate(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	conntest.Backends(t, func(t *testing.T, backend string) {
		s := serve(t, backend, 1)
		c := s.dial()
		request := []byte("GET /plaintext HTTP/1.1\r\nHost: a\r\nUser-Agent: test\r\n\r\n")
		answer := make([]byte, 1024)
		ask := func(times int) {
			for range times {
				_, _ = c.Write(request)
				if n, err := c.Read(answer); err != nil || n < len(plaintext) || string(answer[n-len(plaintext):n]) != plaintext {
					t.Fatal(n, err)
				}
			}
		}
		ask(1000)
		const n = 10_000
		least := uint64(math.MaxUint64)
		for i := 0; i < 5 && least >= n/10; i++ { // what else runs in this process only adds
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			ask(n)
			runtime.ReadMemStats(&after)
			least = min(least, after.Mallocs-before.Mallocs)
		}
		require.Less(t, least, uint64(n/10), "allocations in %d requests: a few are the date's and the runtime's", n)
	})
}
