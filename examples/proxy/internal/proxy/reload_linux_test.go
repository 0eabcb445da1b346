package proxy

import (
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// A reload that fails leaves upstreams to be judged as before: one that is left alone for a
// while returns, although the configuration that failed would have had it asked.
func TestAReloadThatFailsKeepsNoUpstreamOut(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		taken := listen(t, "127.0.0.1:0", echo)
		gone := listen(t, "127.0.0.1:0", echo)
		gone.kill()
		text := func(listen, health string) string {
			return fmt.Sprintf("[[route]]\nlisten = [%s]\nupstream = [{address = 'tcp://%v'}]\nretries = -1\nhealth = {%s}", listen, gone.Addr(), health)
		}
		f := start(t, backend, text("'tcp://127.0.0.1:0'", "fails = 1, eject = '100ms'"))
		_, err := greeting(f.addr())
		require.Error(t, err)
		require.NotZero(t, f.route().Upstreams[0].Failures)
		bad := f.parse(text(fmt.Sprintf("'tcp://127.0.0.1:0', 'tcp://%v'", taken.Addr()), "fails = 1, interval = '1h'"))
		require.ErrorIs(t, f.Reload(bad), syscall.EADDRINUSE)
		conntest.Eventually(t, func() bool { return f.route().Upstreams[0].Healthy }, "it is left alone for 100 ms")
	})
}

// The connections of upstreams and routes that a configuration does not have count again
// with the next one that has them, whether or not there was a reload that failed between.
func TestBoundsHoldAcrossReloads(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		taken := listen(t, "127.0.0.1:0", echo)
		a, b := listen(t, "127.0.0.1:0", greet("a")), listen(t, "127.0.0.1:0", greet("b"))
		text := func(name string, o *origin, more string) string {
			return fmt.Sprintf("[[route]]\nname = '%s'\nlisten = ['tcp://127.0.0.1:0'%s]\nupstream = [{address = 'tcp://%v', max_connections = 1}]\nmax_connections = 10", name, more, o.Addr())
		}
		good := text("one", a, "")
		f := start(t, backend, good)
		c := f.dial()
		require.NoError(t, readName(c, "a"))
		held := func() {
			t.Helper()
			r := f.route()
			require.EqualValues(t, 1, r.Active)
			require.EqualValues(t, 1, r.Upstreams[0].Active)
			name, err := greeting(f.addr())
			require.Error(t, err, "%q: there is one already", name)
		}
		require.Error(t, f.Reload(f.parse(text("two", b, fmt.Sprintf(", 'tcp://%v'", taken.Addr())))))
		require.NoError(t, f.Reload(f.parse(good)))
		held()
		require.NoError(t, f.Reload(f.parse(text("two", b, ""))))
		require.NoError(t, f.Reload(f.parse(good)))
		held()
		require.NoError(t, c.Close())
		conntest.Eventually(t, func() bool { return f.route().Active == 0 && f.route().Upstreams[0].Active == 0 })
		name, err := greeting(f.addr())
		require.NoError(t, err)
		require.Equal(t, "a", name)
	})
}

// Nothing stays open of a reload that fails, and none of its listeners accepts.
func TestAReloadThatFailsListensNowhere(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		taken := listen(t, "127.0.0.1:0", echo)
		o := listen(t, "127.0.0.1:0", greet("a"))
		f := start(t, backend, fmt.Sprintf("[[route]]\nlisten = ['tcp://127.0.0.1:0']\nupstream = [{address = 'tcp://%v'}]", o.Addr()))
		free, err := net.Listen("tcp", "127.34.0.17:0") // an address that no other test uses
		require.NoError(t, err)
		at := free.Addr().String()
		require.NoError(t, free.Close())
		all := []string{"'tcp://" + at + "'", fmt.Sprintf("'tcp://%v'", taken.Addr())}
		require.ErrorIs(t, f.Reload(f.parse(fmt.Sprintf("[[route]]\nlisten = [%s]\nupstream = [{address = 'tcp://%v'}]", strings.Join(all, ", "), o.Addr()))), syscall.EADDRINUSE)
		require.ErrorIs(t, f.Reload(f.parse(fmt.Sprintf(
			"[[route]]\nlisten = ['udp://%s']\nupstream = [{address = 'udp://127.0.0.1:9'}]\n[[route]]\nlisten = ['tcp://%v']\nupstream = [{address = 'tcp://%v'}]", at, taken.Addr(), o.Addr()))), syscall.EADDRINUSE)
		_, err = dial(at)
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		again, err := net.Listen("tcp", at)
		require.NoError(t, err)
		require.NoError(t, again.Close())
		packets, err := net.ListenPacket("udp", at)
		require.NoError(t, err)
		require.NoError(t, packets.Close())
	})
}

// A reload that inserts a route leaves the counts of the others where they are, although no route
// has a name.
func TestARouteWithoutANameKeepsItsCounts(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		a, b := listen(t, "127.0.0.1:0", greet("a")), listen(t, "127.0.0.1:0", greet("b"))
		dir := t.TempDir()
		route := func(name string, o *origin) string {
			return fmt.Sprintf("[[route]]\nlisten = ['unix://%s/%s']\nupstream = [{address = 'tcp://%v'}]\n", dir, name, o.Addr())
		}
		f := start(t, backend, route("a", a))
		c, err := net.Dial("unix", dir+"/a")
		require.NoError(t, err)
		defer c.Close()
		require.NoError(t, readName(c, "a"))
		before := f.Snapshot().Routes[0]
		require.NoError(t, f.Reload(f.parse(route("b", b)+route("a", a))))
		fresh, kept := f.Snapshot().Routes[0], f.Snapshot().Routes[1]
		require.Zero(t, fresh.Accepted)
		require.Zero(t, fresh.Upstreams[0].Opened)
		require.Equal(t, before.Name, kept.Name, "the label of its metrics")
		require.EqualValues(t, 1, kept.Accepted)
		require.EqualValues(t, 1, kept.Active)
		require.EqualValues(t, 1, kept.Upstreams[0].Opened)
	})
}
