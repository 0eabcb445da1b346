package interop

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// serveDNS answers by miekg/dns, over a packet socket and a listener. A question for
// "<bytes>.large." has an answer of about that length. It returns both addresses.
//
// miekg/dns reads and writes a *net.UDPConn by messages with the address that a question was sent
// to, and answers from it. It uses ReadFrom and WriteTo of any other net.PacketConn, so a server on
// several addresses needs a socket for each.
func serveDNS(t *testing.T, o *opener) (udp, tcp net.Addr) {
	p, err := o.packet()
	require.NoError(t, err)
	ln, err := o.listen()
	require.NoError(t, err)
	answer := dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		a, name := new(dns.Msg).SetReply(q), q.Question[0].Name
		size := 1
		_, _ = fmt.Sscanf(name, "%d.large.", &size) // other names have the least
		for ; size > 0; size -= 200 {
			header := dns.RR_Header{Name: name, Rrtype: dns.TypeTXT, Class: dns.ClassINET, Ttl: 60}
			a.Answer = append(a.Answer, &dns.TXT{Hdr: header, Txt: []string{text(name, size)}})
		}
		room := dns.MaxMsgSize
		if w.LocalAddr().Network() == "udp" {
			room = dns.MinMsgSize
			if o := q.IsEdns0(); o != nil {
				room = int(o.UDPSize())
				a.SetEdns0(o.UDPSize(), false)
			}
		}
		a.Truncate(room)
		_ = w.WriteMsg(a) // the client may have gone
	})
	for _, s := range []*dns.Server{{PacketConn: p, Handler: answer}, {Listener: ln, Handler: answer}} {
		started, served := make(chan struct{}), make(chan error, 1)
		s.ReadTimeout, s.IdleTimeout = conntest.Patience, func() time.Duration { return conntest.Patience }
		s.NotifyStartedFunc = func() { close(started) }
		go func() { served <- s.ActivateAndServe() }()
		conntest.Receive(t, started)
		t.Cleanup(func() {
			require.NoError(t, s.Shutdown(), "its reads wake")
			require.NoError(t, conntest.Receive(t, served))
		})
	}
	return p.LocalAddr(), ln.Addr()
}

// text is what the record of a name says with so much left to send.
func text(name string, left int) string {
	s := fmt.Sprintf("%s %d ", name, left)
	return s + strings.Repeat("x", 180-len(s))
}

// A resolver asks over one connection of each kind.
type resolver struct {
	udp, tcp *dns.Conn
	client   dns.Client
}

func (o *opener) resolver(udp, tcp net.Addr) (*resolver, error) {
	u, err := o.dial("udp4", udp)
	if err != nil {
		return nil, err
	}
	c, err := o.dial("tcp4", tcp)
	if err != nil {
		_ = u.Close()
		return nil, err
	}
	return &resolver{&dns.Conn{Conn: u}, &dns.Conn{Conn: c}, dns.Client{Timeout: conntest.Patience}}, nil
}

func (r *resolver) Close() error { return errors.Join(r.udp.Close(), r.tcp.Close()) }

// ask asks by a datagram, and over TCP if the answer is truncated. It checks the whole answer.
func (r *resolver) ask(name string, size int, edns uint16) (truncated bool, err error) {
	q := new(dns.Msg).SetQuestion(name, dns.TypeTXT)
	if edns > 0 {
		q.SetEdns0(edns, false)
	}
	a, _, err := r.client.ExchangeWithConn(q, r.udp)
	if err != nil {
		return false, err
	}
	if o := a.IsEdns0(); (o != nil) != (edns > 0) || o != nil && o.UDPSize() != edns {
		return false, fmt.Errorf("%d bytes of EDNS were asked for, and %v is the answer", edns, o)
	}
	if truncated = a.Truncated; truncated {
		if a, _, err = r.client.ExchangeWithConn(q, r.tcp); err != nil {
			return true, err
		}
	}
	for _, rr := range a.Answer {
		if rr, ok := rr.(*dns.TXT); !ok || len(rr.Txt) != 1 || rr.Txt[0] != text(name, size) {
			return truncated, fmt.Errorf("%v with %d bytes of %s to come", rr, size, name)
		}
		size -= 200
	}
	if a.Truncated || size > 0 {
		return truncated, fmt.Errorf("%d bytes of %s are missing", size, name)
	}
	return truncated, nil
}

func TestDNS(t *testing.T) {
	overOpeners(t, func(t *testing.T, o *opener) {
		udp, tcp := serveDNS(t, o)
		r, err := o.resolver(udp, tcp)
		require.NoError(t, err)
		defer r.Close()
		for _, c := range []struct {
			name      string
			size      int
			edns      uint16
			truncated bool
		}{
			{"small.", 1, 0, false},
			{"small.", 1, 1232, false},
			{"300.large.", 300, 0, false},
			{"700.large.", 700, 0, true},
			{"700.large.", 700, 1232, false},
			{"4000.large.", 4000, 1232, true},
			{"4000.large.", 4000, 8192, false},
			{"40000.large.", 40000, 8192, true},
			{"40000.large.", 40000, 65000, false}, // in one datagram, as loopback allows
			{"60000.large.", 60000, 0, true},
		} {
			truncated, err := r.ask(c.name, c.size, c.edns)
			require.NoError(t, err, c)
			require.Equal(t, c.truncated, truncated, c)
		}
	})
}

// A datagram may be lost if the kernel has no room, so each client asks one question at a time.
func TestDNSManyClients(t *testing.T) {
	overOpeners(t, func(t *testing.T, o *opener) {
		udp, tcp := serveDNS(t, o)
		conntest.Each(t, 100, func(i int) error {
			r, err := o.resolver(udp, tcp)
			if err != nil {
				return err
			}
			for j := range 10 {
				size, name := 1, fmt.Sprintf("small.%d.of.%d.", j, i)
				if j%5 == 4 { // over TCP
					size = 1000 + 10*i + j
					name = fmt.Sprintf("%d.large.", size)
				}
				if truncated, err := r.ask(name, size, 0); err != nil || truncated != (size > 1) {
					return errors.Join(fmt.Errorf("%s, truncated: %v: %w", name, truncated, err), r.Close())
				}
			}
			return r.Close()
		})
	})
}
