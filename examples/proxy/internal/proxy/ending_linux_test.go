package proxy

import (
	"context"
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

func TestAReloadThatWaitsForDNSEndsWithTheProxy(t *testing.T) {
	asked := make(chan struct{}, 100)
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		asked <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	t.Cleanup(func() { net.DefaultResolver = before })
	conntest.Backends(t, func(t *testing.T, backend string) {
		o := listen(t, "127.0.0.1:0", echo)
		text := fmt.Sprintf("[[route]]\nlisten = ['tcp://127.0.0.1:0']\nupstream = [{address = 'tcp://%v'}]", o.Addr())
		f := start(t, backend, text)
		done := make(chan error, 1)
		go func() {
			done <- f.Reload(f.parse(text + "\n[[route]]\nlisten = ['tcp://nowhere." + backend + ".invalid:0']\nupstream = [{address = 'tcp://127.0.0.1:1'}]"))
		}()
		conntest.Receive(t, asked)
		require.NoError(t, f.Close())
		require.ErrorIs(t, conntest.Receive(t, done), ErrEnded)
		for len(asked) > 0 {
			<-asked
		}
	})
}
