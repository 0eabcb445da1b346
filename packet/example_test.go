package packet_test

import (
	"fmt"
	"net"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// upper answers each datagram with its text in capitals.
type upper struct{ packet.Base }

func (upper) OnPackets(c *packet.Conn, batch []packet.Packet) error {
	for _, p := range batch {
		for i, b := range p.Data {
			if 'a' <= b && b <= 'z' {
				p.Data[i] = b - 'a' + 'A'
			}
		}
		if err := c.WriteTo(p.Data, p.From); err != nil {
			return err
		}
	}
	return nil
}

func listenExample() *net.UDPConn {
	pc, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		panic(err)
	}
	return pc
}

// ask sends a datagram and prints the answer.
func ask(to net.Addr, question string) {
	c, err := net.Dial("udp4", to.String())
	if err != nil {
		panic(err)
	}
	defer c.Close()
	_, _ = c.Write([]byte(question))
	p := make([]byte, 100)
	n, err := c.Read(p)
	fmt.Println(string(p[:n]), err)
}

func ExampleHandler() {
	g, err := conn.NewGroup(conn.Config{}, sched.Config{Workers: 1})
	if err != nil {
		panic(err)
	}
	defer g.Close()
	pc := listenExample()
	h, err := packet.Listen(g, pc, upper{})
	if err != nil {
		panic(err)
	}
	at := pc.LocalAddr()
	pc.Close() // the group has a descriptor of its own
	ask(at, "hello")
	h.Close()
	// Output: HELLO <nil>
}

// counter numbers the datagrams of each peer.
type counter struct{}

func (counter) OnOpen(s *packet.Session) error { s.SetValue(new(int)); return nil }

func (counter) OnPacket(s *packet.Session, p packet.Packet) error {
	n := s.Value().(*int)
	*n++
	_, err := s.Write(fmt.Appendf(nil, "%s is number %d", p.Data, *n))
	return err
}

func (counter) OnClose(*packet.Session, error) {}

func ExampleSessions() {
	g, err := conn.NewGroup(conn.Config{}, sched.Config{Workers: 1})
	if err != nil {
		panic(err)
	}
	defer g.Close()
	pc := listenExample()
	h, err := packet.Listen(g, pc, &packet.Sessions{Handler: counter{}, Idle: time.Minute, Max: 1000})
	if err != nil {
		panic(err)
	}
	ask(pc.LocalAddr(), "hello")
	ask(pc.LocalAddr(), "hello") // from another port, so in another session
	h.Close()
	pc.Close()
	// Output:
	// hello is number 1 <nil>
	// hello is number 1 <nil>
}

func ExampleListenSocket() {
	g, err := conn.NewGroup(conn.Config{}, sched.Config{Workers: 1})
	if err != nil {
		panic(err)
	}
	defer g.Close()
	pc := listenExample()
	s, err := packet.ListenSocket(g, pc)
	if err != nil {
		panic(err)
	}
	at := pc.LocalAddr()
	pc.Close()
	go func() {
		p := make([]byte, 100)
		n, from, _ := s.ReadFrom(p)
		_, _ = s.WriteTo(append([]byte("you said "), p[:n]...), from)
	}()
	ask(at, "hello")
	s.Close()
	// Output: you said hello <nil>
}
