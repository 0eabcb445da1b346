package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

func TestTheProxyPassesOnWhatIsSaidAndEachEnd(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		o := listen(t, "127.0.0.1:0", echo)
		path := filepath.Join(t.TempDir(), "front")
		f := start(t, backend, fmt.Sprintf("[[route]]\nlisten = ['tcp://127.0.0.1:0', 'unix://%s']\nupstream = [{address = 'tcp://%v'}]", path, o.Addr()))
		for _, n := range []int{0, 1, 1000, 1 << 20} {
			c := f.dial()
			want := bytes.Repeat([]byte("7 bytes"), n)
			go func() {
				_, _ = c.Write(want)
				_ = c.CloseWrite()
			}()
			got, err := io.ReadAll(c)
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, got), "%d of %d bytes came back", len(got), len(want))
		}
		c, err := net.Dial("unix", path)
		require.NoError(t, err)
		defer c.Close()
		require.NoError(t, exchange(c, "through a path"))
		conntest.Eventually(t, func() bool { return f.route().In == 7*(1+1000+1<<20)+14 })
	})
}

func TestHalfCloseIsPassedOnEitherWay(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		conns := make(chan *net.TCPConn, 1)
		o := listen(t, "127.0.0.1:0", func(c net.Conn) {
			conns <- c.(*net.TCPConn)
			_, _ = io.Copy(io.Discard, c)
		})
		f := start(t, backend, fmt.Sprintf("[[route]]\nlisten = ['tcp://127.0.0.1:0']\nupstream = [{address = 'tcp://%v'}]", o.Addr()))
		client := f.dial()
		server := conntest.Receive(t, conns)
		_, err := io.WriteString(server, "the server is done")
		require.NoError(t, err)
		require.NoError(t, server.CloseWrite())
		got, err := io.ReadAll(client)
		require.NoError(t, err)
		require.Equal(t, "the server is done", string(got))
		_, err = io.WriteString(client, "the client is not")
		require.NoError(t, err)
		conntest.Eventually(t, func() bool { return f.route().In == 17 })
		require.EqualValues(t, 1, f.route().Active)
		require.NoError(t, client.CloseWrite())
		conntest.Eventually(t, func() bool { return f.route().Active == 0 })
	})
}

func TestAnUpstreamThatRefusesIsPassedOverAndLeftAlone(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		o := listen(t, "127.0.0.1:0", greet("alive"))
		dead := listen(t, "127.0.0.1:0", echo)
		at := dead.Addr().String()
		dead.kill()
		f := start(t, backend, fmt.Sprintf("[[route]]\nlisten = ['tcp://127.0.0.1:0']\nupstream = [{address = 'tcp://%s'}, {address = 'tcp://%v'}]\nhealth = {fails = 2, eject = '1h'}", at, o.Addr()))
		for range 10 {
			name, err := greeting(f.addr())
			require.NoError(t, err)
			require.Equal(t, "alive", name)
		}
		r := f.route()
		require.EqualValues(t, 2, r.Retried)
		require.False(t, r.Upstreams[0].Healthy)
		require.Contains(t, r.Upstreams[0].Why, "refused")
		o.kill() // now there is nobody
		_, err := greeting(f.addr())
		require.ErrorIs(t, err, syscall.ECONNRESET)
		conntest.Eventually(t, func() bool { return f.route().Failed == 1 && f.log.Count("none is left") == 1 })
	})
}

// Only the connections to an upstream that dies fail; it is left alone until it is asked and
// answers, and then has its part again.
func TestAnUpstreamIsKilledAndComesBackUnderLoad(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		a, b := listen(t, "127.0.0.1:0", greet("a")), listen(t, "127.0.0.1:0", greet("b"))
		at := b.Addr().String()
		f := start(t, backend, fmt.Sprintf("[[route]]\nlisten = ['tcp://127.0.0.1:0']\nconnect_timeout = '5s'\nhealth = {interval = '20ms', fails = 1, timeout = '1h'}\nupstream = [{address = 'tcp://%v'}, {address = 'tcp://%s'}]", a.Addr(), at))
		conns := map[string][]*net.TCPConn{}
		for range 200 {
			c := f.dial()
			p := make([]byte, 2)
			_, err := io.ReadFull(c, p)
			require.NoError(t, err)
			conns[string(p[:1])] = append(conns[string(p[:1])], c)
		}
		require.Len(t, conns["b"], 100)
		b.kill()
		for _, c := range conns["b"] {
			_, err := io.ReadAll(c)
			require.Error(t, err, "an upstream's reset is one of the client's")
		}
		for _, c := range conns["a"] {
			require.NoError(t, exchange(c, "still here"))
		}
		conntest.Eventually(t, func() bool { return !f.route().Upstreams[1].Healthy })
		conntest.Each(t, 50, func(int) error { // nobody hangs, nobody fails
			name, err := greeting(f.addr())
			if err == nil && name != "a" {
				err = errors.New(name)
			}
			return err
		})
		listen(t, at, greet("b"))
		conntest.Eventually(t, func() bool { return f.route().Upstreams[1].Healthy })
		seen := map[string]int{}
		for range 10 {
			name, err := greeting(f.addr())
			require.NoError(t, err)
			seen[name]++
		}
		require.Equal(t, map[string]int{"a": 5, "b": 5}, seen)
		conntest.Eventually(t, func() bool { return f.log.Count("upstream turned") == 2 }) // it is healthy first
	})
}

func TestAConnectThatIsNotAnsweredEndsWithItsTimeOut(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		hole := conntest.NewHole(t, netip.MustParseAddrPort("127.0.0.1:0"))
		hole.Swallow(t)
		o := listen(t, "127.0.0.1:0", greet("alive"))
		// The time-out is that of the second one too, which a busy machine must be able to connect.
		f := start(t, backend, fmt.Sprintf("[[route]]\nlisten = ['tcp://127.0.0.1:0']\nconnect_timeout = '2s'\nupstream = [{address = 'tcp://%v'}, {address = 'tcp://%v'}]", hole.Addr(), o.Addr()))
		got, err := greeting(f.addr())
		require.NoError(t, err)
		require.Equal(t, "alive", got)
		require.EqualValues(t, 1, f.route().Retried)
	})
}

func TestAnIdleConnectionEndsAndABusyOneDoesNot(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		o := listen(t, "127.0.0.1:0", echo)
		conntest.Punctual(t, 200*time.Millisecond, func(limit time.Duration, alive func()) error {
			f := start(t, backend, fmt.Sprintf("[[route]]\nlisten = ['tcp://127.0.0.1:0']\nidle_timeout = '%v'\nupstream = [{address = 'tcp://%v'}]", limit, o.Addr()))
			defer f.Close()
			c := f.dial()
			for end := time.Now().Add(3 * limit / 2); time.Now().Before(end); time.Sleep(limit / 40) {
				if err := exchange(c, "busy"); err != nil {
					return err
				}
				alive()
			}
			_, err := c.Read(make([]byte, 1))
			require.Error(t, err)
			require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "which is the test's own, and far away")
			require.NoError(t, c.Close())
			conntest.Eventually(t, func() bool { return f.route().Active == 0 })
			return nil
		})
	})
}

func TestMoreConnectionsThanAllowedAreReset(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		o := listen(t, "127.0.0.1:0", echo)
		f := start(t, backend, fmt.Sprintf("[[route]]\nlisten = ['tcp://127.0.0.1:0']\nmax_connections = 2\nupstream = [{address = 'tcp://%v'}]", o.Addr()))
		a, b := f.dial(), f.dial()
		require.NoError(t, exchange(a, "one"))
		require.NoError(t, exchange(b, "two"))
		c, err := dial(f.addr())
		if err == nil { // else it was reset before it knew that it was there
			_, err = c.Read(make([]byte, 1))
			_ = c.Close()
		}
		require.ErrorIs(t, err, syscall.ECONNRESET)
		require.EqualValues(t, 1, f.route().Refused)
		require.NoError(t, a.Close())
		conntest.Eventually(t, func() bool { return f.route().Active == 1 })
		require.NoError(t, exchange(f.dial(), "three"))
	})
}

// A client that takes nothing holds up an upstream that would send for ever, not the
// proxy's memory.
func TestASlowClientOfAFastUpstreamBoundsMemory(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		p := make([]byte, 1<<20)
		o := listen(t, "127.0.0.1:0", func(c net.Conn) {
			for {
				if _, err := c.Write(p); err != nil {
					return
				}
			}
		})
		f := start(t, backend, fmt.Sprintf("[[route]]\nlisten = ['tcp://127.0.0.1:0']\nupstream = [{address = 'tcp://%v'}]", o.Addr()))
		const slow = 20
		for range slow {
			_, err := io.ReadFull(f.dial(), make([]byte, 1<<20))
			require.NoError(t, err)
		}
		var last uint64
		conntest.Eventually(t, func() bool { // until nothing moves
			was := last
			time.Sleep(50 * time.Millisecond) // long enough for something to move, if anything can
			last = f.route().Out
			return was == last
		})
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what pools keep, which nobody has, goes with the second one
		runtime.ReadMemStats(&m)
		require.Less(t, m.HeapAlloc, uint64(slow<<20), "of %d connections", slow) // without pipes, a bulk's buffers
	})
}
