package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

func TestTheConsoleDoesNotWaitForSlowClients(t *testing.T) {
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

func TestTheConsoleAsksForItsTokenAndItsName(t *testing.T) {
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

func TestTheConsolesStreamOutlivesTheTimeOut(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := start(t, backend, "admin = '127.0.0.1:0'\nadmin_timeout = '1s'\n[[route]]\nlisten = ['tcp://127.0.0.1:0']\nupstream = [{address = 'tcp://127.0.0.1:1'}]")
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		res, err := client.Get("http://" + f.Admin().String() + "/stream")
		require.NoError(t, err)
		defer res.Body.Close()
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 1<<20)
		for seen, serves := 0, 0; seen < 3 || serves == 0; { // they are a second apart
			require.True(t, lines.Scan(), "the stream has ended: %v", lines.Err())
			if strings.HasPrefix(lines.Text(), "data: ") {
				seen++
				if strings.Contains(lines.Text(), `"state":"serves"`) { // else it does not answer in time
					serves++
				}
			}
		}
	})
}
