package proxy

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/examples/proxy/internal/config"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/reactor"
)

func TestWhatComesMayGather(t *testing.T) {
	t.Setenv(reactor.EnvBackend, "")
	o := listen(t, "127.0.0.1:0", echo)
	text := fmt.Sprintf("[[route]]\nlisten = ['tcp://127.0.0.1:0']\nupstream = [{address = 'tcp://%v'}]", o.Addr())
	f := start(t, "", "coalesce = '100us'\n"+text)
	require.Equal(t, "epoll", f.group.Backend())
	c := f.dial()
	for range 100 {
		require.NoError(t, exchange(c, "hello"))
	}

	long, err := config.Parse("coalesce = '2ms'\n" + text)
	require.NoError(t, err)
	var log conntest.Log
	_, err = New(long, log.Logger())
	require.ErrorContains(t, err, "Coalesce is 2ms; use 0 to 1ms")
}
