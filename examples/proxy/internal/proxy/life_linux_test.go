package proxy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

func TestAReloadUnderLoadFailsNothing(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		a, b := listen(t, "127.0.0.1:0", greet("a")), listen(t, "127.0.0.1:0", greet("b"))
		text := func(o *origin, more string) string {
			return fmt.Sprintf("[[route]]\nname = 'main'\nlisten = ['tcp://127.0.0.1:0'%s]\nupstream = [{address = 'tcp://%v'}]", more, o.Addr())
		}
		f := start(t, backend, text(a, ""))
		old := f.dial()
		require.NoError(t, readName(old, "a"))
		addr := f.addr()
		var stop atomic.Bool
		var asked atomic.Int64
		loads := make(chan error, 4)
		for range cap(loads) {
			go func() {
				for !stop.Load() {
					if _, err := greeting(addr); err != nil {
						loads <- err
						return
					}
					asked.Add(1)
				}
				loads <- nil
			}()
		}
		for i := range 20 {
			n := asked.Load()
			o, more := a, ""
			if i%2 == 0 {
				o, more = b, ", 'tcp://127.0.0.2:0'"
			}
			require.NoError(t, f.Reload(f.parse(text(o, more))))
			conntest.Eventually(t, func() bool { return asked.Load() > n+8 || len(loads) > 0 })
		}
		stop.Store(true)
		for range cap(loads) {
			require.NoError(t, conntest.Receive(t, loads))
		}
		require.Equal(t, addr, f.addr())
		require.NoError(t, exchange(old, "as before"))
		require.NotZero(t, b.served())
	})
}

func readName(c net.Conn, name string) error {
	p := make([]byte, len(name)+1)
	_, err := io.ReadFull(c, p)
	if err == nil && string(p) != name+"\n" {
		err = errors.New(string(p))
	}
	return err
}

func TestAConfigurationThatCannotBeChangesNothing(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		o := listen(t, "127.0.0.1:0", greet("a"))
		f := start(t, backend, fmt.Sprintf("[[route]]\nlisten = ['tcp://127.0.0.1:0']\nupstream = [{address = 'tcp://%v'}]", o.Addr()))
		require.ErrorIs(t, f.Reload(f.parse(fmt.Sprintf("[[route]]\nlisten = ['tcp://%v']\nupstream = [{address = 'tcp://127.0.0.1:1'}]", o.Addr()))), syscall.EADDRINUSE)
		require.ErrorContains(t, f.Reload(f.parse("[[route]]\nlisten = ['tcp://127.0.0.1:0']\ntls = {certificate = '/nowhere', key = '/nowhere'}\nupstream = [{address = 'tcp://127.0.0.1:1'}]")), "/nowhere")
		name, err := greeting(f.addr())
		require.NoError(t, err)
		require.Equal(t, "a", name)
	})
}

func TestAProxyThatDrainsTakesNobodyNewAndWaitsForTheOthers(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		o := listen(t, "127.0.0.1:0", echo)
		f := start(t, backend, fmt.Sprintf("drain_timeout = '1h'\n[[route]]\nlisten = ['tcp://127.0.0.1:0']\nupstream = [{address = 'tcp://%v'}]", o.Addr()))
		c := f.dial()
		require.NoError(t, exchange(c, "before"))
		addr := f.addr()
		ended := make(chan error, 1)
		go func() { ended <- f.Shutdown(t.Context()) }()
		conntest.Eventually(t, func() bool {
			c, err := net.Dial("tcp", addr)
			if err == nil {
				_ = c.Close()
			}
			return errors.Is(err, syscall.ECONNREFUSED)
		})
		require.NoError(t, exchange(c, "meanwhile"))
		require.Empty(t, ended)
		require.NoError(t, c.Close())
		require.NoError(t, conntest.Receive(t, ended))
	})
}

func TestADrainThatTakesTooLongEnds(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		o := listen(t, "127.0.0.1:0", echo)
		f := start(t, backend, fmt.Sprintf("drain_timeout = '50ms'\n[[route]]\nlisten = ['tcp://127.0.0.1:0']\nupstream = [{address = 'tcp://%v'}]", o.Addr()))
		c := f.dial()
		require.NoError(t, exchange(c, "before"))
		require.NoError(t, f.Shutdown(t.Context()))
		_, err := c.Read(make([]byte, 1))
		require.ErrorIs(t, err, syscall.ECONNRESET)
	})
}

func TestTheConsoleAndTheMetricsTellWhatHappens(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		o := listen(t, "127.0.0.1:0", echo)
		f := start(t, backend, fmt.Sprintf("admin = '127.0.0.1:0'\n[[route]]\nname = 'the \"one\"'\nlisten = ['tcp://127.0.0.1:0']\nupstream = [{address = 'tcp://%v'}]", o.Addr()))
		require.NoError(t, exchange(f.dial(), "hello"))
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		get := func(path string) string {
			res, err := client.Get("http://" + f.Admin().String() + path)
			require.NoError(t, err)
			defer res.Body.Close()
			require.Equal(t, http.StatusOK, res.StatusCode)
			b, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			return string(b)
		}
		require.Contains(t, get("/"), "console.js")
		var shown string
		conntest.Eventually(t, func() bool { // on a busy machine it may say that it does not answer
			shown = get("/snapshot.json")
			return strings.Contains(shown, `"state":"serves"`)
		})
		require.Contains(t, shown, `"listeners":["tcp `+f.addr()+`"]`)
		require.Contains(t, get("/dump"), "worker 0:")
		require.Contains(t, get("/status.json"), `"Accepted":1`)
		metrics := get("/metrics")
		for _, line := range []string{
			`suiro_proxy_active_connections{route="the \"one\""} 1`, `suiro_proxy_received_bytes_total{route="the \"one\""} 5`,
			fmt.Sprintf(`suiro_proxy_upstream_healthy{route="the \"one\"",upstream="tcp://%v"} 1`, o.Addr()),
			"# TYPE suiro_proxy_connections_total counter",
		} {
			require.Contains(t, strings.Split(metrics, "\n"), line)
		}
	})
}

// A program may ask where the proxy listens while a signal ends it, as after a reload.
func TestAnEndingProxyHasNoAddresses(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := start(t, backend, "[[route]]\nlisten = ['tcp://127.0.0.1:0']\nupstream = [{address = 'tcp://127.0.0.1:9'}]")
		require.Len(t, f.Addresses(), 1)
		require.NoError(t, f.Shutdown(t.Context()))
		require.Empty(t, f.Addresses())
		require.Empty(t, f.Addrs())
		require.Empty(t, f.Snapshot().Listeners)
	})
}

// A start waits a little for sockets that the kernel has kept of a killed process.
func TestAStartWaitsForAnAddressThatIsAboutToBeFree(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		for _, of := range []string{"listener", "admin"} {
			kept, err := net.Listen("tcp", "127.77.83.3:0") // an address that no other test uses
			require.NoError(t, err)
			at := map[string]string{"listener": "127.0.0.1:0", "admin": "127.0.0.1:0", of: kept.Addr().String()}
			time.AfterFunc(50*time.Millisecond, func() { _ = kept.Close() })
			f := start(t, backend, fmt.Sprintf("admin = '%s'\n[[route]]\nlisten = ['tcp://%s']\nupstream = [{address = 'tcp://127.0.0.1:9'}]", at["admin"], at["listener"]))
			require.NoError(t, f.Close())
		}
	})
}
