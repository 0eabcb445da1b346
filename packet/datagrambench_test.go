package packet_test

import (
	"context"
	"net"
	"net/netip"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// An echo of 64 bytes between a raw client and one socket: a task's, a goroutine's (Socket), or one
// of package net. The client is always the same, so all differences are those of the sockets.
func BenchmarkEchoOfOneSocket(b *testing.B) {
	b.Run("net", func(b *testing.B) {
		pc := listenUDP(b, "udp4", "127.0.0.1:0")
		go echoGoroutine(pc.ReadFromUDPAddrPort, pc.WriteToUDPAddrPort)
		benchEcho(b, pc.LocalAddr().(*net.UDPAddr).AddrPort())
	})
	for _, backend := range []string{"epoll", "io_uring"} {
		for _, kind := range []string{"task", "socket", "context"} {
			b.Run(kind+"/"+backend, func(b *testing.B) {
				cfg := conn.Config{}
				cfg.Reactor.Backend = backend
				g, err := conn.NewGroup(cfg, sched.Config{Workers: 1})
				require.NoError(b, err)
				defer g.Close()
				pc := listenUDP(b, "udp4", "127.0.0.1:0")
				switch kind {
				case "socket":
					s, err := packet.ListenSocket(g, pc)
					require.NoError(b, err)
					defer s.Close()
					go echoGoroutine(s.ReadFromUDPAddrPort, s.WriteToUDPAddrPort)
				default:
					s, err := packet.ListenUDP(g, pc)
					require.NoError(b, err)
					defer s.Close()
					if kind == "task" {
						sched.Go(g.Runtime(), func(cx *sched.Context) (struct{}, error) { return struct{}{}, echoTask(s)(cx) }).Detach()
					} else {
						go func() {
							p := make([]byte, 2000)
							for {
								n, from, err := s.RecvFrom(context.Background(), p)
								if err != nil {
									return
								}
								_ = s.SendTo(context.Background(), p[:n], from)
							}
						}()
					}
				}
				at := pc.LocalAddr().(*net.UDPAddr).AddrPort()
				_ = pc.Close()
				benchEcho(b, at)
			})
		}
	}
}

func echoGoroutine(read func([]byte) (int, netip.AddrPort, error), write func([]byte, netip.AddrPort) (int, error)) {
	p := make([]byte, 2000)
	for {
		n, from, err := read(p)
		if err != nil {
			return
		}
		_, _ = write(p[:n], from)
	}
}

func benchEcho(b *testing.B, at netip.AddrPort) {
	runtime.GC()
	c := udpClient(b, at)
	p := make([]byte, 64)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Write(p); err != nil {
			b.Fatal(err)
		}
		if _, err := c.Read(p); err != nil {
			b.Fatal(err)
		}
	}
}
