package proxy

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

func TestDatagramsOfOldSessionsTakeTheNewestConfiguration(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		a, b := listenPackets(t, "127.0.0.1:0"), listenPackets(t, "127.0.0.1:0")
		at := func(o *echoer) string { return o.LocalAddr().String() }
		f := start(t, backend, packetText("name = 'one'", at(a)))
		c := f.packets()
		require.True(t, insist(c, "to a"))
		require.NoError(t, f.Reload(f.parse(packetText("name = 'one'", at(a), at(b)))))
		before := a.came.Load()
		require.True(t, insist(c, "still to a"))
		require.Greater(t, a.came.Load(), before, "an upstream that stays keeps its sessions")
		require.NoError(t, f.Reload(f.parse(packetText("name = 'one'", at(b)))))
		require.NoError(t, a.Close())
		require.True(t, insist(c, "to b"))
		require.Positive(t, b.came.Load())
		require.EqualValues(t, 1, f.route().Active)
		require.EqualValues(t, 1, f.upstream(0).Active)
	})
}

func TestBoundsOfAnOpenUDPListenerFollowAReload(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		up := listenPackets(t, "127.0.0.1:0")
		f := start(t, backend, packetText("udp = {max_sessions = 8}", up.LocalAddr().String()))
		for range 3 {
			require.True(t, insist(f.packets(), "x"))
		}
		require.NoError(t, f.Reload(f.parse(packetText("udp = {max_sessions = 3}", up.LocalAddr().String()))))
		_, err := f.packets().Write([]byte("x"))
		require.NoError(t, err)
		conntest.Eventually(t, func() bool { return f.route().Refused == 1 })
		require.NoError(t, f.Reload(f.parse(packetText("idle_timeout = '100ms'", up.LocalAddr().String()))))
		require.True(t, insist(f.packets(), "x"))
		conntest.Eventually(t, func() bool { return f.route().Active == 0 })
	})
}

// A flood from many ports takes neither the descriptors of TCP clients nor those of other sessions.
func TestAFloodOfDatagramsLeavesDescriptors(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		up := listenPackets(t, "127.0.0.1:0")
		o := listen(t, "127.0.0.1:0", echo)
		f := start(t, backend, fmt.Sprintf("[[route]]\nlisten = ['tcp://127.0.0.1:0']\nupstream = [{address = 'tcp://%v'}]\n[[route]]\nname = 'udp'\nlisten = ['udp://127.0.0.1:0']\nupstream = [{address = 'udp://%v'}]", o.Addr(), up.LocalAddr()))
		const all = 64
		f.door.Budget.Set(all, true, true)
		at := f.Addresses()[1].Host
		udp := func() net.Conn {
			c, err := net.Dial("udp", at)
			require.NoError(t, err)
			t.Cleanup(func() { _ = c.Close() })
			return c
		}
		sessions := func() (active int64, evicted uint64) {
			r := f.Snapshot().Routes[1]
			return r.Active, r.Evicted
		}
		honest := udp()
		require.True(t, insist(honest, "hello"))
		up.silent.Store(true)
		for i := range 2 * all {
			_, err := udp().Write([]byte("x"))
			require.NoError(t, err)
			conntest.Eventually(t, func() bool { // it has a session, or none as long as others are being closed
				return up.came.Load()+int64(f.Snapshot().Routes[1].Failed) > int64(i)
			})
		}
		active, evicted := sessions()
		require.LessOrEqual(t, active, int64(all*3/4))
		require.Positive(t, evicted)
		var clients []net.Conn
		for range all / 4 { // more than a quarter: sessions are given up for them
			c, err := dial(f.addr())
			if err != nil {
				break // sessions are being closed
			}
			defer c.Close()
			clients = append(clients, c)
			if exchange(c, "hello") != nil {
				break
			}
		}
		conntest.Eventually(t, func() bool {
			c, err := dial(f.addr())
			if err != nil {
				return false
			}
			defer c.Close()
			a, _ := sessions()
			return exchange(c, "hello") == nil && a < active
		})
		require.GreaterOrEqual(t, len(clients), all/4/2)
		up.silent.Store(false)
		require.True(t, insist(honest, "again"), "an answered session stays")
	})
}

func TestTheSocketOfAKilledProcessIsTaken(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		o := listen(t, "127.0.0.1:0", greet("a"))
		path := filepath.Join(t.TempDir(), "socket")
		text := fmt.Sprintf("[[route]]\nlisten = ['unix://%s']\nupstream = [{address = 'tcp://%v'}]", path, o.Addr())
		left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
		require.NoError(t, err)
		left.SetUnlinkOnClose(false)
		_, err = New((&fixture{t: t, backend: backend}).parse(text), new(conntest.Log).Logger())
		require.ErrorIs(t, err, syscall.EADDRINUSE, "a process listens there")
		require.NoError(t, left.Close())
		start(t, backend, text)
		c, err := net.Dial("unix", path)
		require.NoError(t, err)
		defer c.Close()
		require.NoError(t, c.SetDeadline(time.Now().Add(conntest.Patience)))
		require.NoError(t, readName(c, "a"))
		file := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(file, nil, 0o600))
		require.False(t, removeStale(file), "no socket")
	})
}

// A socket that a reload closes is free for the next one.
func TestAListenerThatIsRemovedMayBeAddedAgainAtOnce(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		first := "[[route]]\nlisten = ['tcp://127.0.0.1:0']\nupstream = [{address = 'tcp://127.0.0.1:9'}]\n"
		for _, kind := range []string{"udp", "tcp", "http"} {
			to := strings.Replace(kind, "http", "tcp", 1)
			f := start(t, backend, first)
			text := func(addr string) string {
				return first + fmt.Sprintf("[[route]]\nlisten = ['%s://%s']\nupstream = [{address = '%s://127.0.0.1:9'}]\n", kind, addr, to)
			}
			require.NoError(t, f.Reload(f.parse(text("127.77.83.4:0")))) // an address that no other test uses
			at := f.Addresses()[1].Host
			for range 20 {
				require.NoError(t, f.Reload(f.parse(first)), kind)
				require.NoError(t, f.Reload(f.parse(text(at))), kind)
			}
			require.NoError(t, f.Close())
		}
	})
}
