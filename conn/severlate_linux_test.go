package conn_test

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// A run that began before Close was slow, and its accept goes to the kernel when Close has
// canceled the one before and could not yet take the socket away. It is canceled as well.
func TestAnAcceptThatCloseOvertakesDoesNotKeepTheSocket(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		l := f.listenTo(f.audit.of(funcs{data: echo}))
		f.rounds(2)

		stuck, late, release := make(chan struct{}), make(chan error, 1), make(chan struct{})
		t.Cleanup(func() { close(release) })
		f.on(0, func(cx *sched.Context) {
			close(stuck)
			d := cx.Driver().(*conn.Driver)
			conntest.Eventually(t, func() bool { _, err := d.Poll(cx, 0, false); return err != nil || l.Ended() })
			err := l.SubmitAccept(d)
			_, polled := d.Poll(cx, 0, false)
			late <- errors.Join(err, polled)
			<-release
		})
		conntest.Receive(t, stuck)
		give := conn.TakeInert(f.Group) // nothing can take the socket's place
		closed := make(chan error, 1)
		go func() { closed <- l.Close() }()
		err := conntest.Receive(t, late)
		require.NoError(t, give())
		require.NoError(t, err)
		require.NoError(t, conntest.Receive(t, closed))
		_, err = net.DialTimeout("tcp", l.Addr().String(), conntest.Patience)
		require.ErrorIs(t, err, syscall.ECONNREFUSED, "the kernel still accepts, though Close has returned")
	})
}
