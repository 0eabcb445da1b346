package server_test

import (
	"io"
	"net"
	"os"
	"os/exec"
	"testing"

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
