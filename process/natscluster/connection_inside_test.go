package natscluster

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

// A log is what a node has logged.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

// lines counts the lines with a text.
func (l *log) lines(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), text)
}

func TestAServerThatAllowsLessBeginsEpochs(t *testing.T) {
	c := alone(t, nil)
	p := c.heard(7)
	epoch := func() uint64 {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.epoch
	}
	c.reconnected(c.nc)
	require.Equal(t, uint64(1), epoch(), "it allows as much as before")
	c.maxFrame.Add(1)
	c.reconnected(c.nc)
	require.Equal(t, uint64(2), epoch())
	require.Equal(t, c.nc.MaxPayload(), c.maxFrame.Load())
}

func TestTheEndOfTheConnectionIsLogged(t *testing.T) {
	var l log
	closed := make(chan struct{})
	near := alone(t, nil)
	c := alone(t, func(cfg *Config) {
		cfg.URL = near.URL()
		cfg.Logger = slog.New(slog.NewTextHandler(&l, nil))
		cfg.Options = []nats.Option{nats.ClosedHandler(func(*nats.Conn) { close(closed) })}
	})
	c.nc.Close()
	<-closed
	require.Equal(t, 1, l.lines("closed for good"))
}

func TestOtherVersionsAreLoggedOnce(t *testing.T) {
	var l log
	c := alone(t, func(cfg *Config) { cfg.Logger = slog.New(slog.NewTextHandler(&l, nil)) })
	b := make([]byte, frameHeader)
	(&header{kind: framePlain, node: 7, epoch: 1}).put(b)
	b[0] = protocolVersion + 1
	for range 3 {
		c.receive(&nats.Msg{Data: b})
		c.heartbeat(&nats.Msg{Data: b})
	}
	require.Equal(t, 1, l.lines("another version"))
}

func TestAPeerEndsWithItsCluster(t *testing.T) {
	p := unstarted()
	c := p.c
	c.ctx, c.cancel = context.WithCancel(t.Context())
	c.peers = map[uint64]*peer{7: p}
	c.running.Add(1)
	go p.run()
	c.stop() // as Join does if it fails
	require.Nil(t, c.heard(8), "it has left")
}
