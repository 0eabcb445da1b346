package accept

import (
	"context"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/admission"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/internal/membudget"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

func TestAnAcceptIsInFlightUntilTheSocketIsClosed(t *testing.T) {
	f := newFixture(t, &admission.Limits{}, nil, 0)
	require.NoError(t, f.Start())
	require.False(t, f.next(reactor.Accept).One)
	f.complete(7, true)
	require.Equal(t, 7, conntest.Receive(t, f.begun))
	f.complete(8, false)
	require.Equal(t, 8, conntest.Receive(t, f.begun))
	f.next(reactor.Accept)
	f.complete(-int(syscall.ECONNABORTED), false) // of one connection: nothing is paused for it
	f.next(reactor.Accept)
	f.closes()
	require.ErrorIs(t, f.Close(), net.ErrClosed)
	_, err := f.File("")
	require.ErrorIs(t, err, net.ErrClosed)
	require.Empty(t, f.pauses)
}

func TestPausesGrowUntilSomethingIsAccepted(t *testing.T) {
	f := newFixture(t, &admission.Limits{}, nil, 0)
	require.NoError(t, f.Start())
	for _, pause := range []time.Duration{5, 10, 20} {
		f.next(reactor.Accept)
		f.complete(-int(syscall.EMFILE), false)
		require.Equal(t, pause*time.Millisecond, conntest.Receive(t, f.pauses))
	}
	f.next(reactor.Accept)
	f.complete(7, true)
	conntest.Receive(t, f.begun)
	for _, pause := range []time.Duration{5, 10} {
		f.complete(-int(syscall.EMFILE), false)
		require.Equal(t, pause*time.Millisecond, conntest.Receive(t, f.pauses))
		f.next(reactor.Accept)
	}
	f.closes()
}

func TestASocketThatIsWokenInAPauseAcceptsNothing(t *testing.T) {
	f := newFixture(t, &admission.Limits{}, nil, 0)
	f.until = time.Hour
	require.NoError(t, f.Start())
	after := sched.Spawn(f.group.Engine.RT, sched.FutureFunc[bool](func(*sched.Context) (bool, error) { return true, nil }))
	_, err := after.Wait(t.Context()) // the only worker has run both
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.Empty(t, f.ops)
}

func TestAtTheLimitConnectionsWaitAndBeginInTheirOrder(t *testing.T) {
	f := newFixture(t, &admission.Limits{Most: 1, Waits: true}, nil, 0)
	require.NoError(t, f.Start())
	require.True(t, f.next(reactor.Accept).One)
	f.complete(7, true) // as Windows may, although One is asked for
	f.complete(8, true)
	require.Equal(t, 7, conntest.Receive(t, f.begun))
	f.next(reactor.Cancel)
	f.complete(9, false) // before the cancel
	conntest.Eventually(t, func() bool { return f.State().Spare == 2 && f.State().Full })
	f.group.Limits.Leave(somebody.Addr())
	require.Equal(t, 8, conntest.Receive(t, f.begun))
	f.group.Limits.Leave(somebody.Addr())
	require.Equal(t, 9, conntest.Receive(t, f.begun))
	require.Empty(t, f.ops, "it accepts without room")
	f.group.Limits.Leave(somebody.Addr())
	f.next(reactor.Accept)
	f.closes()
}

func TestAcceptingStopsWhileThereIsNoRoom(t *testing.T) {
	f := newFixture(t, &admission.Limits{Most: 1, Waits: true}, nil, 0)
	require.NoError(t, f.Start())
	f.next(reactor.Accept)
	f.complete(7, true)
	conntest.Receive(t, f.begun)
	f.complete(8, true) // and the Accept goes on: it is ended
	require.Equal(t, reactor.Accept, f.next(reactor.Cancel).Target)
	f.closes()
	require.Zero(t, f.State().Spare, "one that waits is refused at the end")
	require.Empty(t, f.begun)
}

func TestBeyondTheLimitConnectionsAreRefused(t *testing.T) {
	f := newFixture(t, &admission.Limits{Most: 1}, nil, 0)
	require.NoError(t, f.Start())
	f.next(reactor.Accept)
	f.complete(7, true)
	conntest.Receive(t, f.begun)
	f.complete(1, false)
	f.next(reactor.Accept)
	require.Empty(t, f.begun)
	f.closes()
}

func TestAcceptingStopsWhileAsManyWaitAsMay(t *testing.T) {
	f := newFixture(t, &admission.Limits{}, nil, 2)
	require.NoError(t, f.Start())
	for i := range 2 {
		require.True(t, f.next(reactor.Accept).One)
		f.complete(7+i, false)
		conntest.Receive(t, f.begun)
	}
	f.next(reactor.Accept)
	f.Arrived()
	f.Arrived()
	f.next(reactor.Cancel)
	f.complete(-int(syscall.ECANCELED), false)
	require.True(t, f.State().Full)
	f.Taken()
	f.next(reactor.Accept)
	require.False(t, f.State().Full)
	f.closes()
}

func TestAcceptingStopsWhileMemoryIsTight(t *testing.T) {
	var usage membudget.Usage
	memory := &membudget.Budget{Max: 100}
	memory.Set(&usage, 90, 0)
	f := newFixture(t, &admission.Limits{}, memory, 0)
	require.NoError(t, f.Start())
	f.next(reactor.Accept)
	f.complete(7, false) // it was taken for nothing: there was no need to look
	require.Equal(t, 7, conntest.Receive(t, f.begun))
	conntest.Eventually(t, func() bool { return f.State().InLine })
	next, woken := new(membudget.Waiter), make(waker, 1)
	require.False(t, memory.Await(next, woken))
	memory.Sent(&usage, 90)
	require.False(t, memory.WakeNext())
	f.next(reactor.Accept)
	conntest.Receive(t, woken, "the next in line is woken")
	f.closes()
}

func TestASocketThatClosesLeavesTheLineForMemory(t *testing.T) {
	var usage membudget.Usage
	memory := &membudget.Budget{Max: 100}
	memory.Set(&usage, 90, 0)
	f := newFixture(t, &admission.Limits{}, memory, 0)
	require.NoError(t, f.Start())
	f.next(reactor.Accept)
	f.complete(7, false)
	conntest.Receive(t, f.begun)
	conntest.Eventually(t, func() bool { return f.State().InLine })
	require.NoError(t, f.Close())
	f.next(reactor.Close)
	require.False(t, f.State().InLine)
}

type waker chan bool

func (w waker) Wake() { w <- true }

func TestASocketThatBeginsAfterTheEndOfItsGroupClosesItself(t *testing.T) {
	f := newFixture(t, &admission.Limits{}, nil, 0)
	f.group.Engine.AbortAll()
	require.ErrorIs(t, f.Start(), net.ErrClosed)
	require.NoError(t, f.Wait(context.Background()))
	require.Nil(t, f.group.Engine.Table.Get(f.State().Token))
	require.Empty(t, f.ops, "no reactor knows the descriptor")
}

func TestCloseAllClosesEachSocketOfTheTable(t *testing.T) {
	f := newFixture(t, &admission.Limits{}, nil, 0)
	require.NoError(t, f.Start())
	f.next(reactor.Accept)
	all := f.group.CloseAll()
	f.next(reactor.Cancel)
	require.True(t, f.group.Closing())
	f.complete(9, false) // a connection overtakes the cancel
	require.Equal(t, 9, conntest.Receive(t, f.begun))
	f.next(reactor.Close)
	all.Wait()
	require.False(t, f.group.Closing())
}

func TestAWaitForTheEndEndsWithItsContext(t *testing.T) {
	f := newFixture(t, &admission.Limits{}, nil, 0)
	require.NoError(t, f.Start())
	f.next(reactor.Accept)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, f.Wait(ctx), context.Canceled)
	f.closes()
	require.NoError(t, f.Wait(ctx), "it is closed, whatever the context says")
}

func TestAPeerThatIsNotKnownIsNoUnixSocket(t *testing.T) {
	a := Of(listening, netip.AddrPort{})
	require.Equal(t, netip.IPv6Unspecified(), a.Peer.Addr())
	require.Empty(t, a.Path)
}
