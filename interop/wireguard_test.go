package interop

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/ipv4"
	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/tun/tuntest"

	"github.com/suiro-go/suiro/internal/conntest"
)

// A bind gives a WireGuard device sockets that the test opens. It reads and writes batches.
type bind struct {
	open func() (net.PacketConn, error)

	mu     sync.Mutex
	socket net.PacketConn // nil: closed
	batch  batcher        // of socket
}

// A batcher is our socket, or one of package net by way of golang.org/x/net.
type batcher interface {
	ReadBatch(ms []ipv4.Message, flags int) (int, error)
	WriteBatch(ms []ipv4.Message, flags int) (int, error)
}

func (b *bind) Open(uint16) ([]conn.ReceiveFunc, uint16, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.socket != nil {
		return nil, 0, conn.ErrBindAlreadyOpen
	}
	socket, err := b.open()
	if err != nil {
		return nil, 0, err
	}
	batch, ok := socket.(batcher)
	if !ok {
		batch = ipv4.NewPacketConn(socket)
	}
	b.socket, b.batch = socket, batch
	receive := func(packets [][]byte, sizes []int, from []conn.Endpoint) (int, error) {
		ms := make([]ipv4.Message, len(packets))
		for i := range ms {
			ms[i].Buffers = packets[i : i+1]
		}
		n, err := batch.ReadBatch(ms, 0)
		for i := range ms[:max(n, 0)] {
			sizes[i], from[i] = ms[i].N, endpoint{ms[i].Addr.(*net.UDPAddr)}
		}
		return n, err
	}
	return []conn.ReceiveFunc{receive}, socket.LocalAddr().(*net.UDPAddr).AddrPort().Port(), nil
}

func (b *bind) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.socket == nil {
		return nil
	}
	err := b.socket.Close()
	b.socket = nil
	return err
}

func (b *bind) Send(packets [][]byte, to conn.Endpoint) error {
	b.mu.Lock()
	batch := b.batch
	b.mu.Unlock()
	ms := make([]ipv4.Message, len(packets))
	for i := range ms {
		ms[i].Buffers, ms[i].Addr = packets[i:i+1], to.(endpoint).UDPAddr
	}
	for len(ms) > 0 {
		n, err := batch.WriteBatch(ms, 0)
		if err != nil {
			return err
		}
		ms = ms[n:]
	}
	return nil
}

func (b *bind) ParseEndpoint(s string) (conn.Endpoint, error) {
	at, err := netip.ParseAddrPort(s)
	return endpoint{net.UDPAddrFromAddrPort(at)}, err
}

func (b *bind) SetMark(uint32) error { return nil }
func (b *bind) BatchSize() int       { return 32 }

// An endpoint is a peer's address.
type endpoint struct{ *net.UDPAddr }

func (e endpoint) ClearSrc()           {}
func (e endpoint) SrcToString() string { return "" }
func (e endpoint) SrcIP() netip.Addr   { return netip.Addr{} }
func (e endpoint) DstToString() string { return e.String() }
func (e endpoint) DstIP() netip.Addr   { return e.AddrPort().Addr() }
func (e endpoint) DstToBytes() []byte  { p, _ := e.AddrPort().MarshalBinary(); return p }

// A tunnelEnd is a device of WireGuard with an address in the tunnel.
type tunnelEnd struct {
	tun *tuntest.ChannelTUN
	ip  netip.Addr
}

// newTunnel makes two devices that know each other.
func newTunnel(t *testing.T, o *opener) (ends [2]tunnelEnd) {
	var keys [2]*ecdh.PrivateKey
	var devices [2]*device.Device
	var binds [2]*bind
	for i := range ends {
		key, err := ecdh.X25519().GenerateKey(rand.Reader)
		require.NoError(t, err)
		keys[i], binds[i] = key, &bind{open: o.packet}
		ends[i] = tunnelEnd{tuntest.NewChannelTUN(), netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)})}
		logger := &device.Logger{Verbosef: device.DiscardLogf, Errorf: t.Logf}
		devices[i] = device.NewDevice(ends[i].tun.TUN(), binds[i], logger)
		t.Cleanup(devices[i].Close)
		require.NoError(t, devices[i].IpcSet(fmt.Sprintf("private_key=%x\n", key.Bytes())))
		require.NoError(t, devices[i].Up())
	}
	for i, d := range devices {
		binds[1-i].mu.Lock()
		at := binds[1-i].socket.LocalAddr()
		binds[1-i].mu.Unlock()
		peer := fmt.Sprintf("public_key=%x\nendpoint=%v\nallowed_ip=%v/32\n", keys[1-i].PublicKey().Bytes(), at, ends[1-i].ip)
		require.NoError(t, d.IpcSet(peer))
	}
	return ends
}

// packet is an IP packet from an end to the other, with n bytes more than a ping.
func (e tunnelEnd) packet(to tunnelEnd, n int) []byte {
	p := append(tuntest.Ping(to.ip, e.ip), noise(n)...)
	binary.BigEndian.PutUint16(p[2:], uint16(len(p)))
	return p
}

// carry sends packets through the tunnel, and checks that they arrive in order.
func (e tunnelEnd) carry(ctx context.Context, to tunnelEnd, n int) error {
	room := make(chan struct{}, 32) // in flight, so that the kernel has room for all
	go func() {
		for i := range n {
			select {
			case room <- struct{}{}:
			case <-ctx.Done():
				return
			}
			select {
			case e.tun.Outbound <- e.packet(to, i):
			case <-ctx.Done():
				return
			}
		}
	}()
	for i := range n {
		select {
		case p := <-to.tun.Inbound:
			if !bytes.Equal(p, e.packet(to, i)) {
				return fmt.Errorf("packet %d arrived changed, or not in its turn", i)
			}
			<-room
		case <-ctx.Done():
			return fmt.Errorf("packet %d: %w", i, ctx.Err())
		}
	}
	return nil
}

func TestWireGuard(t *testing.T) {
	overOpeners(t, func(t *testing.T, o *opener) {
		ends := newTunnel(t, o)
		ctx, cancel := context.WithTimeout(t.Context(), conntest.Patience)
		defer cancel()
		require.NoError(t, ends[0].carry(ctx, ends[1], 1), "the handshake")
		conntest.Each(t, 2, func(i int) error { return ends[i].carry(ctx, ends[1-i], 1000) })
	})
}
