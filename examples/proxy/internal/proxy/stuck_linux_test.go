package proxy

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

func TestAProxyEndsThoughAWorkerIsStuck(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		o := listen(t, "127.0.0.1:0", echo)
		f := start(t, backend, fmt.Sprintf("drain_timeout = '50ms'\nworkers = 1\n[[route]]\nlisten = ['tcp://127.0.0.1:0']\nupstream = [{address = 'tcp://%v'}]", o.Addr()))
		require.NoError(t, exchange(f.dial(), "before"))
		in, out := make(chan bool), make(chan bool)
		release := sync.OnceFunc(func() { close(out) })
		t.Cleanup(release)
		sched.Go(f.group.Runtime(), func(*sched.Context) (bool, error) {
			close(in)
			<-out
			return true, nil
		})
		conntest.Receive(t, in)
		ended := make(chan error, 1)
		go func() { ended <- f.Shutdown(t.Context()) }()
		err := conntest.Receive(t, ended)
		require.ErrorIs(t, err, conn.ErrStuck)
		require.ErrorContains(t, err, "worker 0")
		release()
		conntest.Receive(t, f.group.Runtime().Done())
	})
}
