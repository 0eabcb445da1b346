package proxy

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

func TestAClientThatNeverAsksIsNotWaitedFor(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, _ := behindHTTP(t, backend, func(http.ResponseWriter, *http.Request) {}, "header_timeout = '50ms'", "idle_timeout = '1h'")
		_, err := f.dial().Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
		conntest.Eventually(t, func() bool { return f.route().Active == 0 })
	})
}

// A head that arrives byte by byte must still be whole in time.
func TestAHeadThatDribblesIsNotWaitedFor(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		conntest.Punctual(t, 200*time.Millisecond, func(limit time.Duration, alive func()) error {
			f, _ := behindHTTP(t, backend, func(http.ResponseWriter, *http.Request) {}, "header_timeout = '"+limit.String()+"'", "idle_timeout = '1h'")
			c := f.dial()
			if _, err := io.WriteString(c, "GET / HTTP/1.1\r\n"); err != nil {
				return err
			}
			alive()
			go func() {
				for err := error(nil); err == nil; {
					time.Sleep(5 * time.Millisecond) // any pause does: the head never ends
					_, err = io.WriteString(c, "A: b\r\n")
				}
			}()
			return answeredLate(bufio.NewReader(c), http.StatusRequestTimeout, limit, alive)
		})
	})
}

// answeredLate is answered within Punctual, for an answer that is awaited for as long as the limit.
func answeredLate(in *bufio.Reader, status int, limit time.Duration, alive func()) error {
	done := make(chan error, 1)
	go func() { done <- answered(in, status) }()
	for {
		select {
		case err := <-done:
			return err
		case <-time.After(limit / 10):
			alive()
		}
	}
}

// The connection is idle while the upstream thinks, but a request is pending on it.
func TestAPendingRequestOutlivesTheIdleTimeOut(t *testing.T) {
	s := newSecret(t, "localhost")
	conntest.Backends(t, func(t *testing.T, backend string) {
		for _, more := range []string{"", fmt.Sprintf("tls = {certificate = '%s', key = '%s'}", s.cert, s.key)} {
			f, _ := behindHTTP(t, backend, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "reply_timeout = '1s'", "idle_timeout = '100ms'", more)
			scheme, tr := "http", &http.Transport{TLSClientConfig: s.client("localhost")}
			if more != "" {
				scheme = "https"
			}
			t.Cleanup(tr.CloseIdleConnections)
			res, err := (&http.Client{Transport: tr, Timeout: conntest.Patience}).Get(scheme + "://" + f.addr())
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.Equal(t, http.StatusGatewayTimeout, res.StatusCode)
		}
	})
}

// The idle time-out of a connection that has waited for its next request ends with that.
func TestAnIdleTimeOutDoesNotEndTheNextRequest(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		h := func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/pending" {
				<-r.Context().Done()
			}
		}
		conntest.Punctual(t, 400*time.Millisecond, func(limit time.Duration, alive func()) error {
			f, _ := behindHTTP(t, backend, h, fmt.Sprintf("reply_timeout = '%v'\nidle_timeout = '%v'", 2*limit, limit))
			c := f.dial()
			defer c.Close()
			in := bufio.NewReader(c)
			ask := func(path string) (*http.Response, error) {
				if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
					return nil, err
				}
				return http.ReadResponse(in, nil)
			}
			alive()
			if _, err := ask("/"); err != nil {
				return err
			}
			from := time.Now()
			conntest.Eventually(t, func() bool { return !serving() })
			late := time.Since(from) > limit/2
			res, err := ask("/pending")
			if err != nil && late {
				return err
			}
			require.NoError(t, err)
			require.Equal(t, http.StatusGatewayTimeout, res.StatusCode)
			return nil
		})
	})
}

// A connection that waits too long for its next request ends, and so does a tunnel without bytes.
func TestIdleConnectionsOfHTTPEnd(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		h := func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Upgrade") == "" {
				return
			}
			c, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer c.Close()
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
			_, _ = io.Copy(struct{ io.Writer }{c}, rw.Reader)
		}
		for _, upgrade := range []string{"", "Connection: Upgrade\r\nUpgrade: echo\r\n"} {
			conntest.Punctual(t, 200*time.Millisecond, func(limit time.Duration, alive func()) error {
				f, _ := behindHTTP(t, backend, h, "idle_timeout = '"+limit.String()+"'", "header_timeout = '1h'")
				c := f.dial()
				alive()
				_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n"+upgrade+"\r\n")
				require.NoError(t, err)
				in := bufio.NewReader(c)
				if _, err = http.ReadResponse(in, nil); err != nil {
					return err
				}
				_, err = in.ReadByte()
				require.Error(t, err)
				require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "which is the test's own, and far away")
				require.NoError(t, c.Close())
				conntest.Eventually(t, func() bool { return f.route().Active == 0 })
				return nil
			})
		}
	})
}

// serving reports whether any client's connection has a goroutine.
func serving() bool {
	p := make([]byte, 1<<20)
	return bytes.Contains(p[:runtime.Stack(p, true)], []byte("gateway.(*client).serve("))
}

func TestAConnectionHasOnlySoManyRequests(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, _ := behindHTTP(t, backend, func(http.ResponseWriter, *http.Request) {}, "max_requests = 3")
		for _, rests := range []bool{false, true} { // with its goroutine, and without between requests
			c := f.dial()
			in := bufio.NewReader(c)
			for i := range 3 {
				if rests {
					conntest.Eventually(t, func() bool { return !serving() })
				}
				_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
				require.NoError(t, err)
				res, err := http.ReadResponse(in, nil)
				require.NoError(t, err)
				require.Equal(t, i == 2, res.Close)
			}
			_, err := in.ReadByte()
			require.ErrorIs(t, err, io.EOF)
			require.NoError(t, c.Close())
		}
	})
}

// A body that comes byte by byte is not waited for until the idle time-out after each of them.
func TestABodyThatDribblesIsNotWaitedFor(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		for _, framing := range []string{"Content-Length: 1000000", "Transfer-Encoding: chunked"} {
			conntest.Punctual(t, 200*time.Millisecond, func(limit time.Duration, alive func()) error {
				f, _ := behindHTTP(t, backend, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) },
					"min_rate = 1000000", "header_timeout = '"+limit.String()+"'", "idle_timeout = '1h'")
				c := f.dial()
				if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\n"+framing+"\r\n\r\n"); err != nil {
					return err
				}
				alive()
				go func() {
					for err := error(nil); err == nil; {
						time.Sleep(5 * time.Millisecond) // any pause does: the body never ends
						_, err = io.WriteString(c, "1\r\nx\r\n")
					}
				}()
				if err := answeredLate(bufio.NewReader(c), http.StatusRequestTimeout, limit, alive); err != nil {
					return err
				}
				require.NoError(t, c.Close())
				conntest.Eventually(t, func() bool { return f.route().Active == 0 })
				return nil
			})
		}
	})
}

// A client that takes an answer byte by byte does not hold its upstream until the idle time-out.
func TestAnAnswerThatIsTakenTooSlowlyEnds(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		conntest.Punctual(t, time.Second, func(limit time.Duration, alive func()) error {
			ended := make(chan struct{}, 1)
			f, _ := behindHTTP(t, backend, func(w http.ResponseWriter, _ *http.Request) {
				p := make([]byte, 1<<20)
				for {
					if _, err := w.Write(p); err != nil {
						ended <- struct{}{}
						return
					}
				}
			}, "min_rate = 1000000000", "header_timeout = '"+limit.String()+"'", "idle_timeout = '1h'")
			c := f.dial()
			if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
				return err
			}
			alive()
			if _, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil { // it takes no more
				return err
			}
			conntest.Receive(t, ended) // though the connection stays
			conntest.Eventually(t, func() bool { return f.route().Active == 0 })
			return nil
		})
	})
}

// An upstream may think before it says whether a body is wanted: nothing can come meanwhile.
func TestAClientIsNotSlowWhileItExpectsToContinue(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		conntest.Punctual(t, 200*time.Millisecond, func(limit time.Duration, alive func()) error {
			thought := make(chan struct{})
			think := sync.OnceFunc(func() { close(thought) })
			defer think()
			f, _ := behindHTTP(t, backend, func(w http.ResponseWriter, r *http.Request) {
				<-thought
				_, _ = io.Copy(w, r.Body)
			}, "header_timeout = '"+limit.String()+"'")
			c := f.dial()
			in := bufio.NewReader(c)
			if _, err := io.WriteString(c, expecting); err != nil {
				return err
			}
			conntest.Rest(limit*3/2, limit, alive)
			think()
			if err := answered(in, http.StatusContinue); err != nil {
				return err
			}
			alive()
			if _, err := io.WriteString(c, "body"); err != nil {
				return err
			}
			return answered(in, http.StatusOK)
		})
	})
}

// chunks is how many chunks there are in a body, and the bytes in them.
func chunks(in *bufio.Reader) (n, size int, err error) {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return n, size, err
		}
		var length int
		if _, err := fmt.Sscanf(line, "%x", &length); err != nil {
			return n, size, err
		}
		if length == 0 {
			return n, size, nil
		}
		if _, err := in.Discard(length + 2); err != nil {
			return n, size, err
		}
		n, size = n+1, size+length
	}
}

// head skips a head.
func head(in *bufio.Reader) error {
	for {
		if line, err := in.ReadString('\n'); err != nil || line == "\r\n" {
			return err
		}
	}
}

func TestTinyChunksAreGathered(t *testing.T) {
	const n = 2000
	body := strings.Repeat("1\r\nx\r\n", n) + "0\r\n\r\n"
	conntest.Backends(t, func(t *testing.T, backend string) {
		got := make(chan [2]int, 1)
		o := listen(t, "127.0.0.1:0", func(c net.Conn) {
			in := bufio.NewReader(c)
			if head(in) != nil {
				return
			}
			n, size, err := chunks(in)
			if err != nil {
				return
			}
			got <- [2]int{n, size}
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"+body)
		})
		f := start(t, backend, httpText(o.Addr()))
		c := f.dial()
		_, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"+body)
		require.NoError(t, err)
		up := conntest.Receive(t, got)
		require.Equal(t, n, up[1])
		require.Less(t, up[0], n/10, "chunks to the upstream")
		in := bufio.NewReader(c)
		require.NoError(t, head(in))
		down, size, err := chunks(in)
		require.NoError(t, err)
		require.Equal(t, n, size)
		require.Less(t, down, n/10, "chunks to the client")
	})
}
