package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

func TestTheStatusPageDoesNotWaitForSlowClients(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		o := listen(t, "127.0.0.1:0", echo)
		f := start(t, backend, fmt.Sprintf("admin = '127.0.0.1:0'\nadmin_timeout = '50ms'\n[[route]]\nlisten = ['tcp://127.0.0.1:0']\nupstream = [{address = 'tcp://%v'}]", o.Addr()))
		for _, begin := range []string{"", "GET / HTTP/1.1\r\nHost: localhost\r\n", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nx"} {
			c, err := dial(f.Admin().String())
			require.NoError(t, err)
			_, err = io.WriteString(c, begin)
			require.NoError(t, err)
			_, err = io.Copy(io.Discard, c)
			require.NoError(t, err, "%q", begin)
			require.NoError(t, c.Close())
		}
	})
}

func TestTheStatusPageAsksForItsTokenAndItsName(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		o := listen(t, "127.0.0.1:0", echo)
		f := start(t, backend, fmt.Sprintf("admin = '127.0.0.1:0'\nadmin_token = 'secret'\nadmin_hosts = ['proxy.internal']\n[[route]]\nlisten = ['tcp://127.0.0.1:0']\nupstream = [{address = 'tcp://%v'}]", o.Addr()))
		for head, want := range map[string]int{
			"Host: proxy.internal\r\nAuthorization: Bearer secret\r\n": 200,
			"Host: localhost\r\nAuthorization: Bearer wrong\r\n":       401,
			"Host: localhost\r\n": 401,
			"Host: attacker.example\r\nAuthorization: Bearer secret\r\n": 421,
		} {
			for _, path := range []string{"/", "/metrics", "/status.json"} {
				c, err := dial(f.Admin().String())
				require.NoError(t, err)
				_, err = io.WriteString(c, "GET "+path+" HTTP/1.1\r\n"+head+"Connection: close\r\n\r\n")
				require.NoError(t, err)
				res, err := http.ReadResponse(bufio.NewReader(c), nil)
				require.NoError(t, err)
				require.Equal(t, want, res.StatusCode, "%s %q", path, head)
				require.NoError(t, c.Close())
			}
		}
	})
}
