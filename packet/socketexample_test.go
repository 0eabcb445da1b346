package packet_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/net/ipv4"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
)

// A goroutine asks a peer, and waits for the answer at most 10 seconds.
func ExampleDialSocket() {
	g, err := conn.NewGroup(conn.Config{}, sched.Config{Workers: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	pc := listenExample()
	defer pc.Close()
	go func() {
		p := make([]byte, 1500)
		if n, from, err := pc.ReadFrom(p); err == nil {
			_, _ = pc.WriteTo(append([]byte("you said "), p[:n]...), from)
		}
	}()
	s, err := packet.DialSocket(g, pc.LocalAddr().(*net.UDPAddr).AddrPort())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	_ = s.SetReadDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprint(s, "hello")
	p := make([]byte, 1500)
	n, err := s.Read(p)
	fmt.Println(string(p[:n]), err)
	// Output: you said hello <nil>
}

// One WriteBatch sends several datagrams. ReadFrom returns one datagram each.
func ExampleSocket_WriteBatch() {
	g, err := conn.NewGroup(conn.Config{}, sched.Config{Workers: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	var ends [2]*packet.Socket
	for i := range ends {
		pc := listenExample()
		ends[i], err = packet.ListenSocket(g, pc)
		pc.Close() // the Socket has a descriptor of its own
		if err != nil {
			fmt.Println(err)
			return
		}
		defer ends[i].Close()
	}
	var batch []ipv4.Message
	for _, text := range []string{"one", "two", "three"} {
		batch = append(batch, ipv4.Message{Buffers: [][]byte{[]byte(text)}, Addr: ends[1].LocalAddr()})
	}
	for len(batch) > 0 { // like ipv4.PacketConn's, it may send only some
		n, err := ends[0].WriteBatch(batch, 0)
		if err != nil {
			fmt.Println(err)
			return
		}
		batch = batch[n:]
	}
	p := make([]byte, 1500)
	for range 3 {
		n, _, err := ends[1].ReadFrom(p)
		fmt.Println(string(p[:n]), err)
	}
	// Output:
	// one <nil>
	// two <nil>
	// three <nil>
}

// A read returns at the deadline, with an error that matches os.ErrDeadlineExceeded.
func ExampleSocket_SetReadDeadline() {
	g, err := conn.NewGroup(conn.Config{}, sched.Config{Workers: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	pc := listenExample()
	s, err := packet.ListenSocket(g, pc)
	pc.Close()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	_ = s.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	_, _, err = s.ReadFrom(make([]byte, 1500))
	fmt.Println(errors.Is(err, os.ErrDeadlineExceeded))
	// Output: true
}
