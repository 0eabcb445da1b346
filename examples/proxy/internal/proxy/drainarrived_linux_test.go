package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// A request that arrives while the connection's task does something else is served before a drain
// ends the connection, which seems idle.
func TestADrainServesARequestThatHasArrived(t *testing.T) {
	const request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	conntest.Backends(t, func(t *testing.T, backend string) {
		f, _ := behindHTTP(t, backend, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "done") }, "")
		c := f.dial()
		in := bufio.NewReader(c)
		served := func() {
			res, err := http.ReadResponse(in, nil)
			require.NoError(t, err)
			p, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.Equal(t, "200 done", fmt.Sprint(res.StatusCode, " ", string(p)))
		}
		_, err := io.WriteString(c, request)
		require.NoError(t, err)
		served()
		held := make(chan struct{})
		conntest.Eventually(t, func() bool { // the connection is idle, and its task then held
			for i := range f.group.Connections() {
				if i.Handler == "*gateway.idle" {
					return i.Handle.Do(func(c *conn.Conn) {
						close(held)
						for !c.Draining() {
							time.Sleep(time.Millisecond)
						}
					}) == nil
				}
			}
			return false
		})
		conntest.Receive(t, held)
		_, err = io.WriteString(c, request)
		require.NoError(t, err)
		ended := make(chan error, 1)
		go func() { ended <- f.Shutdown(t.Context()) }()
		served()
		_, err = in.ReadByte()
		require.ErrorIs(t, err, io.EOF)
		require.NoError(t, c.Close())
		require.NoError(t, conntest.Receive(t, ended))
	})
}
