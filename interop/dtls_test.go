package interop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/pion/dtls/v3"
	dtlsnet "github.com/pion/dtls/v3/pkg/net"
	"github.com/pion/transport/v3/packetio"
	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// A split hands out the peers of one socket, as pion's listener does. That listener opens a socket
// of package net itself.
type split struct {
	socket   net.PacketConn
	accepted chan *splitPeer

	mu    sync.Mutex
	peers map[string]*splitPeer
}

// A splitPeer has the datagrams of one sender.
type splitPeer struct {
	*packetio.Buffer
	of   *split
	from net.Addr
}

func newSplit(socket net.PacketConn) *split {
	s := &split{socket: socket, accepted: make(chan *splitPeer), peers: map[string]*splitPeer{}}
	go s.read()
	return s
}

func (s *split) read() {
	p := make([]byte, 8192)
	for {
		n, from, err := s.socket.ReadFrom(p)
		if err != nil {
			break
		}
		s.mu.Lock()
		peer := s.peers[from.String()]
		isNew := peer == nil && clientHello(p[:n])
		if isNew {
			peer = &splitPeer{Buffer: packetio.NewBuffer(), of: s, from: from}
			s.peers[from.String()] = peer
		}
		s.mu.Unlock()
		if peer == nil {
			continue
		}
		_, _ = peer.Write(p[:n]) // it may be closed
		if isNew {
			s.accepted <- peer
		}
	}
	close(s.accepted)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, peer := range s.peers {
		_ = peer.Buffer.Close()
	}
}

// clientHello is whether a datagram begins a handshake.
func clientHello(p []byte) bool { return len(p) > 13 && p[0] == 22 && p[13] == 1 }

// Accept implements dtlsnet.PacketListener.
func (s *split) Accept() (net.PacketConn, net.Addr, error) {
	p, ok := <-s.accepted
	if !ok {
		return nil, nil, net.ErrClosed
	}
	return p, p.from, nil
}

func (s *split) Close() error   { return s.socket.Close() }
func (s *split) Addr() net.Addr { return s.socket.LocalAddr() }

func (p *splitPeer) ReadFrom(b []byte) (int, net.Addr, error) {
	n, err := p.Read(b)
	return n, p.from, err
}

func (p *splitPeer) WriteTo(b []byte, to net.Addr) (int, error) { return p.of.socket.WriteTo(b, to) }
func (p *splitPeer) LocalAddr() net.Addr                        { return p.of.socket.LocalAddr() }
func (p *splitPeer) SetDeadline(t time.Time) error              { return p.SetReadDeadline(t) }
func (p *splitPeer) SetWriteDeadline(time.Time) error           { return nil } // a write does not wait

func (p *splitPeer) Close() error {
	p.of.mu.Lock()
	delete(p.of.peers, p.from.String())
	p.of.mu.Unlock()
	return p.Buffer.Close()
}

// A dtlsServer echoes messages. It ends a connection after "bye": pion's Close may close the socket
// before it has sent close_notify.
type dtlsServer struct {
	*opener
	addr   net.Addr
	client *dtls.Config
	ended  chan error // why each connection ended
}

func serveDTLS(t *testing.T, s *opener) *dtlsServer {
	of, client := certificate(t)
	socket, err := s.packet()
	require.NoError(t, err)
	ln, err := dtls.NewListener(newSplit(socket), &dtls.Config{Certificates: of.Certificates})
	require.NoError(t, err)
	d := &dtlsServer{
		opener: s, addr: ln.Addr(), ended: make(chan error, 100),
		client: &dtls.Config{RootCAs: client.RootCAs, ServerName: "127.0.0.1"},
	}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			served.Go(func() {
				defer c.Close()
				p := make([]byte, 4096)
				for {
					n, err := c.Read(p)
					if err == nil {
						_, err = c.Write(p[:n])
					}
					if err != nil || string(p[:n]) == "bye" {
						d.ended <- err
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close() // the test may have closed its socket
		served.Wait()
	})
	return d
}

// dial shakes hands, over a connected socket or another one.
func (d *dtlsServer) dial(ctx context.Context, connected bool, to net.Addr) (*dtls.Conn, error) {
	var below net.PacketConn
	if connected {
		c, err := d.opener.dial("udp4", to)
		if err != nil {
			return nil, err
		}
		below = dtlsnet.PacketConnFromConn(c)
	} else {
		var err error
		if below, err = d.packet(); err != nil {
			return nil, err
		}
	}
	c, err := dtls.Client(below, to, d.client)
	if err != nil {
		_ = below.Close()
		return nil, err
	}
	if err = c.HandshakeContext(ctx); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// echoed sends p and checks that it returns.
func echoed(c net.Conn, p []byte) error {
	if _, err := c.Write(p); err != nil {
		return err
	}
	got := make([]byte, 4096)
	n, err := c.Read(got)
	if err != nil {
		return err
	}
	if !bytes.Equal(got[:n], p) {
		return fmt.Errorf("%d bytes were sent, and %d others came back", len(p), n)
	}
	return nil
}

func TestDTLS(t *testing.T) {
	overOpeners(t, func(t *testing.T, s *opener) {
		const clients = 32
		d, data := serveDTLS(t, s), noise(1200)
		ctx, cancel := context.WithTimeout(t.Context(), conntest.Patience)
		defer cancel()
		conntest.Each(t, clients, func(i int) error {
			c, err := d.dial(ctx, i%2 == 0, d.addr)
			if err != nil {
				return err
			}
			_ = c.SetDeadline(time.Now().Add(conntest.Patience))
			for j := 1; j <= 20; j++ {
				if err = echoed(c, data[i:j*50+i]); err != nil {
					return errors.Join(err, c.Close())
				}
			}
			return errors.Join(echoed(c, []byte("bye")), c.Close())
		})
		for range clients {
			require.NoError(t, conntest.Receive(t, d.ended))
		}
	})
}

// pion ends a read by a deadline when its connection closes or the handshake's context ends.
func TestDTLSReadsEnd(t *testing.T) {
	overOpeners(t, func(t *testing.T, s *opener) {
		d := serveDTLS(t, s)
		silent, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		require.NoError(t, err)
		defer silent.Close()
		for _, connected := range []bool{true, false} {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			_, err := d.dial(ctx, connected, silent.LocalAddr())
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)

			c, err := d.dial(t.Context(), connected, d.addr)
			require.NoError(t, err)
			require.NoError(t, echoed(c, []byte("before")))
			require.NoError(t, c.SetReadDeadline(time.Now().Add(10*time.Millisecond)))
			_, err = c.Read(make([]byte, 100))
			require.ErrorIs(t, err, context.DeadlineExceeded, "pion's own deadline")
			require.NoError(t, c.SetReadDeadline(time.Time{}))
			require.NoError(t, echoed(c, []byte("after")))

			read := make(chan error, 1)
			go func() { _, err := c.Read(make([]byte, 100)); read <- err }()
			require.NoError(t, c.Close())
			require.ErrorIs(t, conntest.Receive(t, read), io.EOF)
		}
	})
}

// The end of the server closes the sockets below both ends.
func TestDTLSEndsWithItsServer(t *testing.T) {
	overOpeners(t, func(t *testing.T, s *opener) {
		d := serveDTLS(t, s)
		var reads []chan error
		for _, connected := range []bool{true, false} {
			c, err := d.dial(t.Context(), connected, d.addr)
			require.NoError(t, err)
			defer c.Close()
			require.NoError(t, echoed(c, []byte("before")))
			read := make(chan error, 1)
			go func() { _, err := c.Read(make([]byte, 100)); read <- err }()
			reads = append(reads, read)
		}
		s.end()
		for _, read := range reads {
			require.Error(t, conntest.Receive(t, read))
			require.Error(t, conntest.Receive(t, d.ended))
		}
	})
}
