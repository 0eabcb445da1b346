package proxy

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn/proxyproto"
	"github.com/suiro-go/suiro/internal/conntest"
)

func TestConnectionsAreRoutedByTheNameTheyAskForAndTLSIsLeftAlone(t *testing.T) {
	a, b := newSecret(t, "a.example"), newSecret(t, "x.b.example")
	conntest.Backends(t, func(t *testing.T, backend string) {
		behind := func(s *secret, name string) net.Addr {
			ln, err := tls.Listen("tcp", "127.0.0.1:0", s.server())
			require.NoError(t, err)
			return serveAll(t, ln, greet(name)).Addr()
		}
		plain := listen(t, "127.0.0.1:0", greet("neither"))
		f := start(t, backend, fmt.Sprintf(`
[[route]]
listen = ['tcp://127.0.0.1:0']
server_names = ['A.example']
upstream = [{address = 'tcp://%v'}]
[[route]]
listen = ['tcp://127.0.0.1:0']
server_names = ['*.b.example']
upstream = [{address = 'tcp://%v'}]
[[route]]
listen = ['tcp://127.0.0.1:0']
upstream = [{address = 'tcp://%v'}]`, behind(a, "a"), behind(b, "b"), plain.Addr()))
		for name, s := range map[string]*secret{"a.example": a, "x.b.example": b} {
			c := tls.Client(f.dial(), s.client(name))
			line, err := bufio.NewReader(c).ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, map[string]string{"a.example": "a\n", "x.b.example": "b\n"}[name], line)
			require.NoError(t, c.Close())
		}
		for _, first := range []string{"GET / HTTP/1.1\r\n", "\x16\x03\x01\x00\x05\x02junk"} {
			c := f.dial()
			_, err := io.WriteString(c, first)
			require.NoError(t, err)
			require.NoError(t, readName(c, "neither"))
			p := make([]byte, len(first))
			_, err = io.ReadFull(c, p)
			require.NoError(t, err)
			require.Equal(t, first, string(p), "nothing is lost of what was looked at")
		}
	})
}

func TestAClientThatDoesNotSayWhomItWantsIsNotWaitedForForEver(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		const text = "[[route]]\nlisten = ['tcp://127.0.0.1:0']\nserver_names = ['a']\nupstream = [{address = 'tcp://127.0.0.1:1'}]\nheader_timeout = "
		c := start(t, backend, text+"'50ms'").dial()
		_, err := io.WriteString(c, "\x16\x03")
		require.NoError(t, err)
		_, err = io.ReadAll(c)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "which is the test's own, and far away")
		c = start(t, backend, text+"'1h'").dial()
		_, err = io.WriteString(c, "no TLS, and no route for that")
		require.NoError(t, err)
		_, err = io.ReadAll(c)
		require.ErrorIs(t, err, syscall.ECONNRESET)
	})
}

func TestTLSIsTerminatedAndOriginated(t *testing.T) {
	s := newSecret(t, "localhost")
	conntest.Backends(t, func(t *testing.T, backend string) {
		plain := listen(t, "127.0.0.1:0", echo)
		covered, err := tls.Listen("tcp", "127.0.0.1:0", s.server())
		require.NoError(t, err)
		serveAll(t, covered, echo)
		for _, way := range []struct{ front, back bool }{{true, false}, {false, true}, {true, true}} {
			text := "[[route]]\nlisten = ['tcp://127.0.0.1:0']\n"
			if way.front {
				text += fmt.Sprintf("tls = {certificate = '%s', key = '%s'}\n", s.cert, s.key)
			}
			if way.back {
				text += fmt.Sprintf("upstream = [{address = 'tls://%v'}]\nupstream_tls = {ca = '%s', server_name = 'localhost'}\n", covered.Addr(), s.cert)
			} else {
				text += fmt.Sprintf("upstream = [{address = 'tcp://%v'}]\n", plain.Addr())
			}
			f := start(t, backend, text)
			var c net.Conn = f.dial()
			if way.front {
				over := tls.Client(c, s.client("localhost"))
				require.NoError(t, over.Handshake())
				c = over
			}
			require.NoError(t, exchange(c, "plaintext"))
			require.NoError(t, c.(interface{ CloseWrite() error }).CloseWrite())
			_, err := c.Read(make([]byte, 1))
			require.ErrorIs(t, err, io.EOF)
			require.NoError(t, f.Close())
		}
	})
}

func TestThePROXYProtocolIsReadAndWritten(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		for _, version := range []int{1, 2} {
			heard := make(chan proxyproto.Header, 1)
			o := listen(t, "127.0.0.1:0", func(c net.Conn) {
				var p []byte
				for {
					b := make([]byte, 256)
					n, err := c.Read(b)
					if err != nil {
						return
					}
					p = append(p, b[:n]...)
					if h, n, err := proxyproto.Parse(p); err == nil {
						heard <- h
						_, _ = c.Write(p[n:])
						echo(c)
						return
					}
				}
			})
			f := start(t, backend, fmt.Sprintf("[[route]]\nlisten = ['tcp://127.0.0.1:0']\nproxy_from = ['127.0.0.0/8']\nproxy_to = %d\nupstream = [{address = 'tcp://%v'}]", version, o.Addr()))
			c := f.dial()
			head, err := proxyproto.AppendV2(nil, &proxyproto.Header{
				Command: proxyproto.Proxy, Transport: proxyproto.TCP4,
				Source: netip.MustParseAddrPort("192.0.2.9:1234"), Destination: netip.MustParseAddrPort("192.0.2.1:80"),
			})
			require.NoError(t, err)
			_, err = c.Write(head)
			require.NoError(t, err)
			require.NoError(t, exchange(c, "behind the header"))
			h := conntest.Receive(t, heard)
			require.Equal(t, "192.0.2.9:1234", h.Source.String())
			require.Equal(t, version, h.Version)
			_ = c.Close()
			conntest.Eventually(t, func() bool { return f.log.Count("client=192.0.2.9:1234") == 1 })
		}
	})
}
