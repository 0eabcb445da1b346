package proxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

// A client that is gone holds neither its place nor the connection attempt, whether or not it has
// said something before.
func TestAClientThatResetsWhileAnUpstreamIsDialedEndsAtOnce(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		hole := conntest.NewHole(t, netip.MustParseAddrPort("127.0.0.1:0"))
		hole.Swallow(t)
		f := start(t, backend, fmt.Sprintf("[[route]]\nlisten = ['tcp://127.0.0.1:0']\nconnect_timeout = '1h'\nidle_timeout = '1h'\nupstream = [{address = 'tcp://%v'}]", hole.Addr()))
		for _, said := range []string{"", "hello", strings.Repeat("x", 5000)} {
			c := f.dial()
			_, err := io.WriteString(c, said)
			require.NoError(t, err)
			conntest.Eventually(t, func() bool { return f.route().Active == 1 && f.upstream(0).Active == 1 })
			require.NoError(t, c.SetLinger(0))
			require.NoError(t, c.Close())
			conntest.Eventually(t, func() bool { return f.route().Active == 0 && f.upstream(0).Active == 0 }, said)
		}
	})
}

// A client's bytes, and its end, wait while the upstream is dialed.
func TestWhatIsSaidWhileAnUpstreamIsDialedIsNotLost(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		// All at a time: each waits for as long as a busy machine may need to connect.
		type exchange struct {
			f    *fixture
			c    *net.TCPConn
			text string
		}
		var all []exchange
		for _, size := range []int{1, 5000, 16383, 16384, 3 * 16384, 1 << 20} {
			hole := conntest.NewHole(t, netip.MustParseAddrPort("127.0.0.1:0"))
			o := listen(t, "127.0.0.1:0", echo)
			hole.Swallow(t)
			f := start(t, backend, fmt.Sprintf("[[route]]\nlisten = ['tcp://127.0.0.1:0']\nconnect_timeout = '2s'\nupstream = [{address = 'tcp://%v'}, {address = 'tcp://%v'}]", hole.Addr(), o.Addr()))
			e := exchange{f, f.dial(), strings.Repeat("0123456789abcdef", size/16+1)[:size]}
			all = append(all, e)
			go func() {
				_, _ = io.WriteString(e.c, e.text)
				_ = e.c.CloseWrite()
			}()
		}
		for _, e := range all {
			got, err := io.ReadAll(e.c)
			require.NoError(t, err)
			require.Equal(t, e.text, string(got))
			require.EqualValues(t, 1, e.f.route().Retried)
		}
	})
}

// A name that is not resolved for a long time holds up a reload, and nothing else.
func TestAReloadThatWaitsForDNSHoldsUpNobody(t *testing.T) {
	asked, answer := make(chan struct{}, 100), make(chan struct{})
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		asked <- struct{}{}
		<-answer
		return nil, io.ErrUnexpectedEOF
	}}
	t.Cleanup(func() { net.DefaultResolver = before })
	conntest.Backends(t, func(t *testing.T, backend string) {
		answer = make(chan struct{})
		o := listen(t, "127.0.0.1:0", echo)
		text := fmt.Sprintf("[[route]]\nlisten = ['tcp://127.0.0.1:0']\nupstream = [{address = 'tcp://%v'}]", o.Addr())
		f := start(t, backend, text)
		for _, more := range []string{
			"listen = ['udp://127.0.0.1:0']\nupstream = [{address = 'udp://nowhere.invalid:53'}]",
			"listen = ['udp://nowhere.invalid:0']\nupstream = [{address = 'udp://127.0.0.1:53'}]",
			"listen = ['tcp://nowhere.invalid:0']\nupstream = [{address = 'tcp://127.0.0.1:53'}]",
		} {
			done := make(chan error, 1)
			go func() { done <- f.Reload(f.parse(text + "\n[[route]]\n" + more)) }()
			conntest.Receive(t, asked)
			free := make(chan struct{})
			go func() {
				f.Snapshot()
				f.Addresses()
				close(free)
			}()
			conntest.Receive(t, free, more)
			require.NoError(t, exchange(f.dial(), "hello"))
			close(answer)
			require.Error(t, conntest.Receive(t, done))
			answer = make(chan struct{})
			for len(asked) > 0 {
				<-asked
			}
		}
		require.NoError(t, f.Reload(f.parse(text)))
	})
}
