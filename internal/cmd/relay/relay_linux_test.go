package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

var program string

func TestMain(m *testing.M) { conntest.Main(m, func(path string) { program = path }) }

// start starts a relay to a listener, whose connections serve serves.
func start(t *testing.T, serve func(net.Conn), args ...string) *conntest.Program {
	t.Helper()
	return conntest.Start(t, program, append([]string{"-to", conntest.Serve(t, serve).String()}, args...)...)
}

func TestARelayPassesOnWhatIsSaidAndItsEnds(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		p := start(t, conntest.Echo, "-backend", backend)
		for _, n := range []int{0, 1, 1000, 1 << 20} {
			c := p.Dial()
			want := bytes.Repeat([]byte("7 bytes"), n)
			go func() {
				_, _ = c.Write(want)
				_ = c.(*net.TCPConn).CloseWrite()
			}()
			got, err := io.ReadAll(c)
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, got), "%d of %d bytes came back", len(got), len(want))
			require.NoError(t, c.Close())
		}
		p.Signal(syscall.SIGTERM)
		p.Wait()
	})
}

func TestARelayBetweenUnixSocketsLeavesNoPath(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		dir := t.TempDir()
		inside, outside := filepath.Join(dir, "inside"), filepath.Join(dir, "outside")
		ln, err := net.Listen("unix", inside)
		require.NoError(t, err)
		t.Cleanup(func() { _ = ln.Close() })
		conntest.ServeEach(ln, func(_ int, c net.Conn) { conntest.Echo(c); _ = c.Close() })
		o := &options{network: "unix", addr: outside, toNetwork: "unix", to: inside}
		o.group.Reactor.Backend = backend
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- o.run(ctx) }()
		var c net.Conn
		conntest.Eventually(t, func() bool {
			c, err = net.Dial("unix", outside)
			return err == nil || len(ended) > 0
		})
		require.NoError(t, err)
		defer c.Close()
		_, err = c.Write([]byte("through two sockets"))
		require.NoError(t, err)
		require.NoError(t, c.(*net.UnixConn).CloseWrite())
		require.NoError(t, c.SetDeadline(time.Now().Add(conntest.Patience)))
		got, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Equal(t, "through two sockets", string(got))
		cancel()
		require.NoError(t, conntest.Receive(t, ended))
		require.NoFileExists(t, outside)
	})
}

func TestNetworksThatDoNotGoTogetherAreRefused(t *testing.T) {
	for _, o := range []options{
		{network: "udp", toNetwork: "tcp"},
		{network: "unix", toNetwork: "udp"},
		{network: "ip", toNetwork: "ip"},
	} {
		o.addr, o.to = "127.0.0.1:0", "127.0.0.1:1"
		require.ErrorContains(t, o.run(t.Context()), "use tcp or unix for both, or udp for both")
	}
}

func TestARelayToNobodyIsAReset(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.NoError(t, ln.Close())
		p := conntest.Start(t, program, "-to", ln.Addr().String(), "-backend", backend)
		c, err := net.Dial("tcp", p.Addr)
		if err == nil { // else it was reset before it knew that it was there
			_, err = c.Read(make([]byte, 1))
			_ = c.Close()
		}
		require.ErrorIs(t, err, syscall.ECONNRESET)
		p.Signal(syscall.SIGINT)
		p.Wait()
	})
}
