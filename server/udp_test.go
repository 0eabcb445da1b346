package server_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// Tasks of a server without handlers serve and dial datagrams. When its sockets end, its workers
// end.
func TestTasksServeAndDialUDP(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		s := &server.Server{Backend: backend, Workers: workers}
		u, err := s.ListenUDP("udp4", "127.0.0.1:0")
		require.NoError(t, err)
		rt := s.Group().Runtime()
		served := sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
			p := make([]byte, 100)
			for {
				n, from, err := u.RecvFrom(cx, p)
				if err != nil {
					return struct{}{}, err
				}
				if err := u.SendTo(cx, p[:n], from); err != nil {
					return struct{}{}, err
				}
			}
		})
		d := server.Dialer{Group: s.Group}
		asked := sched.Go(rt, func(cx *sched.Context) (string, error) {
			c, err := d.DialUDP(cx, "udp4", fmt.Sprintf("localhost:%d", u.LocalAddr().Port()))
			if err != nil {
				return "", err
			}
			defer c.Close()
			if err := c.Send(cx, []byte("hello")); err != nil {
				return "", err
			}
			p := make([]byte, 100)
			n, err := c.Recv(cx, p)
			return string(p[:n]), err
		})
		got, err := asked.Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, "hello", got)
		c, err := d.DialUDP(t.Context(), "udp", u.LocalAddr().String())
		require.NoError(t, err)
		require.Equal(t, u.LocalAddr(), c.RemoteAddr())
		if workers == 1 {
			ctx, cancel := context.WithTimeout(context.Background(), conntest.Patience)
			defer cancel()
			require.NoError(t, s.Shutdown(ctx))
			require.ErrorIs(t, c.Close(), net.ErrClosed)
		} else {
			require.NoError(t, c.Close())
			require.NoError(t, u.Close())
		}
		_, err = served.Wait(t.Context())
		require.ErrorIs(t, err, net.ErrClosed)
		conntest.Receive(t, rt.Done())
	})
}

func TestUDPThatCannotBeHadIsAnErrorOfPackageNet(t *testing.T) {
	conntest.Guard(t)
	s := &server.Server{}
	u, err := s.ListenUDP("udp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer u.Close()
	var oe *net.OpError
	_, err = s.ListenUDP("udp4", u.LocalAddr().String())
	require.ErrorAs(t, err, &oe)
	_, err = s.ListenUDP("tcp", "127.0.0.1:0")
	require.ErrorAs(t, err, &oe)
	d := server.Dialer{Group: s.Group, TLS: &tls.Config{}}
	_, err = d.DialUDP(t.Context(), "udp", u.LocalAddr().String())
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.NoError(t, s.Close())
	_, err = s.ListenUDP("udp4", "127.0.0.1:0")
	require.ErrorIs(t, err, server.ErrServerClosed)
}
