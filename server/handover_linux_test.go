package server_test

import (
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

// taken are the sockets that a command would inherit, as Listeners would return them.
func taken(t *testing.T, cmd *exec.Cmd) (listeners []net.Listener, packets []net.PacketConn) {
	t.Helper()
	for _, f := range cmd.ExtraFiles {
		if ln, err := net.FileListener(f); err == nil {
			listeners = append(listeners, ln)
		} else {
			pc, err := net.FilePacketConn(f)
			require.NoError(t, err)
			packets = append(packets, pc)
		}
		require.NoError(t, f.Close())
	}
	return listeners, packets
}

func accepted(ln net.Listener) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		go func() {
			_, _ = io.Copy(c, c)
			_ = c.Close()
		}()
	}
}

// Sockets that Listen has opened are handed over, and inherited sockets can be listened on.
func TestHandOverOfListen(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		path := t.TempDir() + "/socket"
		for _, at := range [][2]string{{"tcp", "127.0.0.1:0"}, {"unix", path}} {
			older := &server.Server{Backend: backend}
			ln, err := older.Listen(at[0], at[1])
			require.NoError(t, err)
			go accepted(ln)
			require.NoError(t, exchange(ln.Addr()))
			cmd := exec.Command(os.Args[0])
			require.NoError(t, older.HandOver(cmd))
			require.Contains(t, cmd.Env, "LISTEN_FDS=1")
			inherited, _ := taken(t, cmd)
			require.Len(t, inherited, 1)
			require.NoError(t, older.Shutdown(t.Context()))
			newer := &server.Server{Backend: backend}
			again, err := newer.NewListener(inherited[0])
			require.NoError(t, err)
			require.Equal(t, ln.Addr().String(), again.Addr().String())
			go accepted(again)
			for range 20 {
				require.NoError(t, exchange(again.Addr()))
			}
			require.NoError(t, newer.Close())
		}
	})
}

func TestHandOverOfUDP(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		older := run(t, &server.Server{Network: "udp", Packets: packetEcho{}, Backend: backend})
		c := older.dial()
		roundTrip(t, c, "x")
		cmd := exec.Command(os.Args[0])
		require.NoError(t, older.HandOver(cmd))
		_, packets := taken(t, cmd)
		require.Len(t, packets, 1)
		require.NoError(t, older.Shutdown(t.Context()))
		newer := &server.Server{Packets: packetEcho{}, Backend: backend}
		served := make(chan error, 1)
		go func() { served <- newer.ServePacket(packets[0].(*net.UDPConn)) }()
		roundTrip(t, c, "y") // from the same socket's queue
		require.NoError(t, newer.Close())
		require.ErrorIs(t, conntest.Receive(t, served), server.ErrServerClosed)
	})
}

// received is the text of a datagram that a handed over socket receives.
func received(t *testing.T, pc net.PacketConn) string {
	t.Helper()
	require.NoError(t, pc.SetDeadline(time.Now().Add(conntest.Patience)))
	p := make([]byte, 100)
	n, _, err := pc.ReadFrom(p)
	require.NoError(t, err)
	return string(p[:n])
}

// The sockets of ListenPacket and of ListenUDP.
func TestHandOverOfDatagramSockets(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		older := &server.Server{Backend: backend}
		t.Cleanup(func() { _ = older.Close() })
		forTasks, err := older.ListenUDP("udp", "127.0.0.1:0")
		require.NoError(t, err)
		forGoroutines, err := older.ListenPacket("udp", "127.0.0.1:0")
		require.NoError(t, err)
		gone, err := older.ListenPacket("udp", "127.0.0.1:0")
		require.NoError(t, err)
		require.NoError(t, gone.Close())
		cmd := exec.Command(os.Args[0])
		require.NoError(t, older.HandOver(cmd))
		list := cmd.Env[len(cmd.Env)-1]
		names := strings.Split(strings.TrimPrefix(list, "LISTEN_FDNAMES="), ":")
		_, packets := taken(t, cmd)
		require.Len(t, packets, 2)
		at := map[string]string{forTasks.LocalAddr().String(): "a", forGoroutines.LocalAddr().String(): "b"}
		require.NoError(t, older.Shutdown(t.Context()))
		for i, pc := range packets {
			defer pc.Close()
			addr := pc.LocalAddr().String()
			require.Equal(t, strings.ReplaceAll(addr, ":", "_"), names[i])
			c, err := net.Dial("udp", addr)
			require.NoError(t, err)
			defer c.Close()
			_, err = c.Write([]byte(at[addr]))
			require.NoError(t, err)
			require.NotEmpty(t, at[addr])
			require.Equal(t, at[addr], received(t, pc))
			delete(at, addr)
		}
	})
}

func TestHandOverOfNothingIsAnError(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		s := &server.Server{Backend: backend}
		ln, err := s.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		client, err := net.Dial("tcp", ln.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = client.Close(); _ = s.Close() })
		c, err := ln.Accept()
		require.NoError(t, err)
		require.NoError(t, ln.Close()) // the connection keeps the workers
		require.ErrorContains(t, s.HandOver(exec.Command(os.Args[0])), "listens nowhere")
		require.NoError(t, c.Close())
	})
}
