package proxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// The proxy ends in order: it stops listening and closes a client without a request at once.
// Requests in progress go on, with the dials that they need, and so do the pooled connections until
// then.
func TestADrainWaitsForTheDialsOfWhatIsUnderWay(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		slow := conntest.NewHole(t, netip.MustParseAddrPort("127.0.0.1:0"))
		slow.Swallow(t)
		var pooled atomic.Int64
		o := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		o.Config.ConnState = func(_ net.Conn, s http.ConnState) {
			switch s {
			case http.StateNew:
				pooled.Add(1)
			case http.StateClosed:
				pooled.Add(-1)
			}
		}
		o.Start()
		t.Cleanup(o.Close)
		text := "drain_timeout = '1h'\n"
		for _, way := range []struct {
			kind string
			to   net.Addr
		}{{"tcp", slow.Addr()}, {"http", slow.Addr()}, {"http", o.Listener.Addr()}} {
			text += fmt.Sprintf("[[route]]\nlisten = ['%s://127.0.0.1:0']\nconnect_timeout = '1h'\nupstream = [{address = 'tcp://%v'}]\n", way.kind, way.to)
		}
		f := start(t, backend, text)
		at := f.Addresses()
		open := func(i int, say string) net.Conn {
			c, err := dial(at[i].Host)
			require.NoError(t, err)
			t.Cleanup(func() { _ = c.Close() })
			_, err = io.WriteString(c, say)
			require.NoError(t, err)
			return c
		}
		const request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
		answer := func(c net.Conn) string {
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			require.NoError(t, err)
			p, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			return fmt.Sprint(res.StatusCode, " ", string(p))
		}
		idle := open(2, request)
		require.Equal(t, "200 ", answer(idle))
		stream, asking := open(0, "hello"), open(1, request)
		conntest.Eventually(t, func() bool { return f.group.Len() == 6 }, "each of the three, and its upstream's")

		ended := make(chan error, 1)
		go func() { ended <- f.Shutdown(t.Context()) }()
		_, err := idle.Read(make([]byte, 1))
		require.Equal(t, io.EOF, err)
		for _, a := range at {
			conntest.Eventually(t, func() bool {
				c, err := net.Dial("tcp", a.Host)
				if err == nil {
					_ = c.Close()
				}
				return errors.Is(err, syscall.ECONNREFUSED)
			})
		}
		serveAll(t, slow.Listen(t), func(c net.Conn) { // it is there at last
			r := bufio.NewReader(c)
			if p, err := r.Peek(5); err != nil || string(p) == "hello" {
				_, _ = io.CopyN(c, r, 5)
				_, _ = io.Copy(io.Discard, r)
				return
			}
			if _, err := http.ReadRequest(r); err == nil {
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone")
				_, _ = io.Copy(io.Discard, r)
			}
		})
		require.Equal(t, "200 done", answer(asking))
		got := make([]byte, 5)
		_, err = io.ReadFull(stream, got)
		require.NoError(t, err)
		require.Equal(t, "hello", string(got))
		require.Empty(t, ended)
		require.EqualValues(t, 1, pooled.Load(), "what waits in the pool ends after what is in use")
		require.NoError(t, stream.Close())
		require.NoError(t, conntest.Receive(t, ended))
		conntest.Eventually(t, func() bool { return pooled.Load() == 0 })
		require.NotContains(t, f.log.String(), "not ended in time")
	})
}
