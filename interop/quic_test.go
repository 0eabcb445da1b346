package interop

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/quic-go/quic-go"
	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

// packets is how quic-go's transports get a socket.
type packets func(t testing.TB) net.PacketConn

// overSockets are those of package net, and ours on each backend: on workers of a server that
// serves nothing else, and on those of handlers.
func overSockets(t *testing.T, test func(t *testing.T, open packets)) {
	t.Run("net", func(t *testing.T) { test(t, netPackets) })
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		conntest.Guard(t)
		test(t, func(t testing.TB) net.PacketConn {
			s := &server.Server{Backend: backend, Workers: workers}
			p, err := s.ListenPacket("udp4", "127.0.0.1:0")
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			return p
		})
	})
}

func netPackets(t testing.TB) net.PacketConn {
	p, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// A quicPair is two transports, a server that answers each stream, and what clients need.
type quicPair struct {
	from, to *quic.Transport
	client   *tls.Config
	cfg      *quic.Config
	close    func()
}

func newQUICPair(t testing.TB, open packets, answer func(s *quic.Stream)) *quicPair {
	of, client := certificate(t)
	of.NextProtos, client.NextProtos = []string{"suiro"}, []string{"suiro"}
	p := &quicPair{
		from: &quic.Transport{Conn: open(t)}, to: &quic.Transport{Conn: open(t)}, client: client,
		cfg: &quic.Config{MaxIncomingStreams: 1000},
	}
	ln, err := p.to.Listen(of, p.cfg)
	require.NoError(t, err)
	var served sync.WaitGroup
	served.Go(func() {
		for {
			c, err := ln.Accept(context.Background())
			if err != nil {
				return
			}
			served.Go(func() {
				for {
					s, err := c.AcceptStream(context.Background())
					if err != nil {
						return
					}
					served.Go(func() { answer(s) })
				}
			})
		}
	})
	p.close = func() {
		_ = ln.Close()
		_ = p.from.Close()
		_ = p.to.Close()
		_ = p.from.Conn.Close()
		_ = p.to.Conn.Close()
		served.Wait()
	}
	return p
}

func (p *quicPair) dial(ctx context.Context) (*quic.Conn, error) {
	return p.from.Dial(ctx, p.to.Conn.LocalAddr(), p.client, p.cfg)
}

// ask sends a request on a stream of its own, and checks the answer.
func ask(ctx context.Context, c *quic.Conn, request, answer []byte) error {
	s, err := c.OpenStreamSync(ctx)
	if err != nil {
		return err
	}
	if _, err = s.Write(request); err == nil {
		err = s.Close()
	}
	if err != nil {
		return err
	}
	left := rest(answer)
	if _, err = io.Copy(&left, s); err == nil && len(left) > 0 {
		err = fmt.Errorf("%d bytes of %d are missing", len(left), len(answer))
	}
	return err
}

// A rest is the part of an answer that has not been read.
type rest []byte

func (r *rest) Write(p []byte) (int, error) {
	if !bytes.HasPrefix(*r, p) {
		return 0, errors.New("these are not the bytes of the answer")
	}
	*r = (*r)[len(p):]
	return len(p), nil
}

// answers sends the same to every request.
func answers(p []byte) func(s *quic.Stream) {
	return func(s *quic.Stream) {
		_, _ = io.Copy(io.Discard, s)
		_, _ = s.Write(p)
		_ = s.Close()
	}
}

const streams = 200

// download reads the answer in many streams of one connection at a time.
func download(ctx context.Context, p *quicPair, answer []byte) error {
	c, err := p.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.CloseWithError(0, "") }()
	errs := make(chan error, streams)
	for range streams {
		go func() { errs <- ask(ctx, c, []byte("all of it"), answer) }()
	}
	for range streams {
		err = errors.Join(err, <-errs)
	}
	return err
}

func noise(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i * i >> 8)
	}
	return p
}

func TestQUICBulk(t *testing.T) {
	overSockets(t, func(t *testing.T, open packets) {
		answer := noise(64 << 10)
		p := newQUICPair(t, open, answers(answer))
		defer p.close()
		require.NoError(t, download(t.Context(), p, answer))
	})
}

// shakeHands dials n connections, some at a time, and asks one question on each.
func shakeHands(ctx context.Context, p *quicPair, n int) error {
	const together = 8
	var next, failed sync.Mutex
	var err error
	var all sync.WaitGroup
	for range together {
		all.Go(func() {
			for {
				next.Lock()
				n--
				over := n < 0
				next.Unlock()
				if over {
					return
				}
				c, e := p.dial(ctx)
				if e == nil {
					e = ask(ctx, c, []byte("hello"), []byte("hello"))
					_ = c.CloseWithError(0, "")
				}
				if e != nil {
					failed.Lock()
					err = errors.Join(err, e)
					failed.Unlock()
				}
			}
		})
	}
	all.Wait()
	return err
}

// SUIRO_HANDSHAKES is the number of connections that TestQUICHandshakes makes on each socket.
func handshakes(t *testing.T) int {
	of := os.Getenv("SUIRO_HANDSHAKES")
	if of == "" {
		return 300
	}
	n, err := strconv.Atoi(of)
	require.NoError(t, err)
	return n
}

func TestQUICHandshakes(t *testing.T) {
	n := handshakes(t)
	overSockets(t, func(t *testing.T, open packets) {
		p := newQUICPair(t, open, answers([]byte("hello")))
		defer p.close()
		require.NoError(t, shakeHands(t.Context(), p, n))
	})
}

// A transport whose socket the server closes ends its connections.
func TestQUICEndsWithItsServer(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		s := &server.Server{Backend: backend}
		p := newQUICPair(t, func(t testing.TB) net.PacketConn {
			p, err := s.ListenPacket("udp4", "127.0.0.1:0")
			require.NoError(t, err)
			return p
		}, answers([]byte("hello")))
		defer p.close()
		c, err := p.dial(t.Context())
		require.NoError(t, err)
		require.NoError(t, ask(t.Context(), c, nil, []byte("hello")))
		require.NoError(t, s.Close())
		conntest.Receive(t, c.Context().Done())
		_, err = p.dial(t.Context())
		require.Error(t, err)
	})
}
