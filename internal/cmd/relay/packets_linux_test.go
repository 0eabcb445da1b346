package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

func origin(t *testing.T) *net.UDPConn {
	t.Helper()
	c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func answerAll(c *net.UDPConn) {
	p := make([]byte, 65535)
	for {
		n, from, err := c.ReadFromUDPAddrPort(p)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			_, _ = c.WriteToUDPAddrPort(p[:n], from)
		}
	}
}

func peer(addr string) (net.Conn, error) {
	c, err := net.Dial("udp", addr)
	if err == nil {
		err = c.SetDeadline(time.Now().Add(conntest.Patience))
	}
	return c, err
}

func TestDatagramsOfAHundredPeersFindTheirWayBack(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		up := origin(t)
		go answerAll(up)
		p := conntest.Start(t, program, "-network", "udp", "-to", up.LocalAddr().String(), "-backend", backend)
		conntest.Each(t, 100, func(i int) error {
			c, err := peer(p.Addr)
			if err != nil {
				return err
			}
			defer c.Close()
			got := make([]byte, 65535)
			for j := range 20 {
				// One at a time of each, and not long, so that they find room in a socket's buffer,
				// all of them.
				want := fmt.Appendf(nil, "%d of %d %*d", j, i, j*10, 0)
				if _, err := c.Write(want); err != nil {
					return err
				}
				n, err := c.Read(got)
				if err != nil {
					return err
				}
				if string(got[:n]) != string(want) {
					return fmt.Errorf("%q came for %q", got[:n], want)
				}
			}
			return nil
		})
		p.Signal(syscall.SIGTERM)
		p.Wait()
	})
}

func TestAPeerIsForgottenWhenItIsSilentAndWelcomeAgain(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		up := origin(t)
		at := up.LocalAddr().(*net.UDPAddr)
		p := conntest.Start(t, program, "-network", "udp", "-to", at.String(), "-idle", "50ms", "-backend", backend)
		c, err := peer(p.Addr)
		require.NoError(t, err)
		defer c.Close()
		_, err = c.Write([]byte("ask"))
		require.NoError(t, err)
		require.NoError(t, up.SetDeadline(time.Now().Add(conntest.Patience)))
		_, from, err := up.ReadFromUDPAddrPort(make([]byte, 10))
		require.NoError(t, err)
		connect(t, up, from)
		// As long as the relay's socket is there, it takes a datagram, which keeps the session.
		// So each try waits for twice as long as the last one.
		pause := 100 * time.Millisecond
		for ; pause < conntest.Patience; pause *= 2 {
			time.Sleep(pause)
			_, _ = up.Write([]byte("late"))
			if _, err := up.Write([]byte("late")); errors.Is(err, syscall.ECONNREFUSED) {
				break
			}
		}
		require.Less(t, pause, conntest.Patience, "the session outlives its silence")
		require.NoError(t, up.Close())
		untilAnswered(t, c, at)
		p.Signal(syscall.SIGINT)
		p.Wait()
	})
}

func TestDatagramsToNobodyAreLostAndTheSessionGoesOn(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		up := origin(t)
		at := up.LocalAddr().(*net.UDPAddr)
		require.NoError(t, up.Close())
		p := conntest.Start(t, program, "-network", "udp", "-to", at.String(), "-backend", backend)
		c, err := peer(p.Addr)
		require.NoError(t, err)
		defer c.Close()
		for range 10 {
			_, err := c.Write([]byte("anybody?"))
			require.NoError(t, err)
		}
		untilAnswered(t, c, at)
		p.Signal(syscall.SIGTERM)
		p.Wait()
	})
}

func connect(t *testing.T, c *net.UDPConn, to netip.AddrPort) {
	t.Helper()
	raw, err := c.SyscallConn()
	require.NoError(t, err)
	var cerr error
	require.NoError(t, raw.Control(func(fd uintptr) {
		cerr = syscall.Connect(int(fd), &syscall.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().Unmap().As4()})
	}))
	require.NoError(t, cerr)
}

// untilAnswered starts a server at an address. The peer asks until the server answers.
func untilAnswered(t *testing.T, c net.Conn, at *net.UDPAddr) {
	t.Helper()
	up, err := net.ListenUDP("udp", at)
	require.NoError(t, err)
	defer up.Close()
	go answerAll(up)
	got := make(chan error, 1)
	go func() {
		p := make([]byte, 10)
		for {
			n, err := c.Read(p)
			if err != nil || string(p[:n]) == "ask again" {
				got <- err
				return
			}
		}
	}()
	conntest.Eventually(t, func() bool {
		_, err := c.Write([]byte("ask again"))
		return len(got) > 0 || err != nil
	})
	require.NoError(t, conntest.Receive(t, got))
}
