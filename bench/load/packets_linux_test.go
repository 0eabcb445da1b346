package load

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// packetServer answers the datagrams with what f makes of them; nil: not at all.
func packetServer(t *testing.T, f func(p []byte) []byte) netip.AddrPort {
	c, err := net.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(t, err)
	_ = c.(*net.UDPConn).SetReadBuffer(udpBuffer)
	t.Cleanup(func() { _ = c.Close() })
	go func() {
		p := make([]byte, mostDatagram+1)
		for {
			n, from, err := c.ReadFrom(p)
			if err != nil {
				return
			}
			if q := f(p[:n]); q != nil {
				_, _ = c.WriteTo(q, from)
			}
		}
	}()
	return netip.MustParseAddrPort(c.LocalAddr().String())
}

func same(p []byte) []byte { return p }

func TestPacketsComeBackInBothLoops(t *testing.T) {
	addr := packetServer(t, same)
	for _, size := range []int{leastDatagram, 64, mostDatagram} {
		cfg := config(addr, size)
		cfg.Depth = 8
		r, err := patiently(Packets, cfg)
		require.NoError(t, err)
		require.Positive(t, r.Count)
		require.Equal(t, r.Count, r.Latency.Count)
		cfg.Rate, cfg.Warmup, cfg.For = 1000, 0, 100*time.Millisecond
		r, err = patiently(Packets, cfg)
		require.NoError(t, err)
		require.InDelta(t, 100, r.Latency.Count, 1)
		require.Positive(t, r.Late.Count)
	}
}

func TestAWrongDatagramFailsTheRun(t *testing.T) {
	defer func(d time.Duration) { lossTime = d }(lossTime)
	lossTime = 100 * time.Millisecond
	for what, f := range map[string]func([]byte) []byte{
		"one bit":        func(p []byte) []byte { p[len(p)-1] ^= 1; return p },
		"another socket": func(p []byte) []byte { p[0]++; return p },
		"not sent yet":   func(p []byte) []byte { p[12]++; return p },
		"one byte less":  func(p []byte) []byte { return p[:len(p)-1] },
		"one byte more":  func(p []byte) []byte { return append(p[:len(p):len(p)], 0) },
		"nothing comes":  func([]byte) []byte { return nil },
		"every fifth not": func() func(p []byte) []byte {
			n := 0
			return func(p []byte) []byte { n++; return p[:len(p)*min(1, n%5)] }
		}(),
	} {
		t.Run(what, func(t *testing.T) {
			cfg := config(packetServer(t, f), 64)
			cfg.Depth = 4
			_, err := patiently(Packets, cfg)
			require.Error(t, err)
		})
	}
}

func TestFewLossesAreCountedAndForgiven(t *testing.T) {
	const many = 4000 // datagrams; one of them may be lost: a busy machine is slow
	for took := 250 * time.Millisecond; ; took *= 2 {
		n := 0
		cfg := config(packetServer(t, func(p []byte) []byte {
			if n++; n == 500 {
				return nil
			}
			return p
		}), 64)
		cfg.Depth, cfg.Warmup, cfg.For = 8, 0, took
		r, err := patiently(Packets, cfg)
		if r.Count < many && took < 20*time.Second {
			continue
		}
		require.NoError(t, err)
		require.LessOrEqual(t, r.Lost, int64(1))
		return
	}
}
