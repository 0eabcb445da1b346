package natscluster_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/process/natscluster"
	"github.com/suiro-go/suiro/sched"
)

// behindProxies joins three nodes, each behind a proxy of its own, and one that has the server.
func behindProxies(t testing.TB, change func(cfg *natscluster.Config)) (nodes []*natscluster.Cluster, proxies []*proxy) {
	t.Helper()
	cfg := testConfig("")
	change(&cfg)
	host := join(t, cfg)
	for range 3 {
		p := newProxy(t, strings.TrimPrefix(host.URL(), "nats://"))
		cfg := testConfig(p.url())
		change(&cfg)
		nodes, proxies = append(nodes, join(t, cfg)), append(proxies, p)
	}
	for _, c := range nodes {
		eventually(t, func() bool { return len(c.Nodes()) == 3 })
	}
	return nodes, proxies
}

// sendSure sends numbered messages from a process of its own, and waits for room.
func sendSure(t *testing.T, c *natscluster.Cluster, to process.PID, n int) (done <-chan struct{}) {
	from := sink(t, c, process.Options{}, func(any) {})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := range n {
			if err := c.System().Send(t.Context(), to, sure{from, i}); err != nil {
				t.Errorf("message %d: %v", i, err)
				return
			}
		}
	}()
	return ended
}

func TestSureMessagesArriveOnceThoughConnectionsBreak(t *testing.T) {
	const each = 10_000
	nodes, proxies := behindProxies(t, func(cfg *natscluster.Config) { cfg.Lost = patience.Limit }) // nobody is lost
	l := newTally()
	pid := sink(t, nodes[0], process.Options{Mailbox: 128}, func(m any) {
		if s, ok := m.(sure); ok {
			l.note(s.From, s.N, false)
		}
	})
	senders := []<-chan struct{}{sendSure(t, nodes[1], pid, each), sendSure(t, nodes[2], pid, each)}
	for i := 1; l.count() < 2*each; i++ { // a cut each time some more have arrived
		before := l.count()
		eventually(t, func() bool { return l.count() >= min(before+2000, 2*each) })
		proxies[i%3].cut()
	}
	for _, ended := range senders {
		<-ended
	}
	for _, c := range nodes {
		require.NoError(t, c.Flush(t.Context()))
	}
	require.Empty(t, l.faults())
	require.Equal(t, 2*each, l.count())
}

func TestPlainMessagesArriveAtMostOnceThoughConnectionsBreak(t *testing.T) {
	const each = 10_000
	nodes, proxies := behindProxies(t, func(cfg *natscluster.Config) { cfg.Lost = patience.Limit })
	l := newTally()
	pid := sink(t, nodes[0], process.Options{Mailbox: -1}, func(m any) {
		if s, ok := m.(plain); ok {
			l.note(s.From, s.N, true)
		}
	})
	from := sink(t, nodes[1], process.Options{}, func(any) {})
	for i := range each {
		require.NoError(t, nodes[1].System().Send(t.Context(), pid, plain{from, i}), "a lost message must give its room back")
		if i%1000 == 999 {
			proxies[i/1000%2].cut()
		}
	}
	eventually(t, func() bool { // the path works again
		require.NoError(t, nodes[1].System().Send(t.Context(), pid, plain{from, each}))
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.next[from] == each+1 || len(l.wrong) > 0
	})
	for _, fault := range l.faults() {
		require.Contains(t, fault, "sent 10000, not 10001", "of the last, which was sent several times")
	}
	t.Logf("%d of %d arrived", l.count(), each)
}

func TestASlowProcessHoldsItsSendersBack(t *testing.T) {
	const total = 5000
	all := three(t, func(_ int, cfg *natscluster.Config) { cfg.Window = 64 << 10 })
	gate := make(chan struct{})
	l := newTally()
	pid := sink(t, all[0], process.Options{Mailbox: 16, Overflow: process.OverflowWait}, func(m any) {
		<-gate
		switch s := m.(type) {
		case sure:
			l.note(s.From, s.N, false)
		case plain:
			l.note(s.From, s.N, false)
		}
	})
	for _, reliable := range []bool{false, true} {
		from := sink(t, all[1], process.Options{}, func(any) {})
		sent := 0
		send := func() error {
			var m any = plain{from, sent}
			if reliable {
				m = sure{from, sent}
			}
			return all[1].System().TrySend(pid, m)
		}
		for ; ; sent++ {
			if err := send(); err != nil {
				require.Equal(t, process.ErrMailboxFull, err)
				break
			}
			require.Less(t, sent, total, "the window must be full")
		}
	}
	ref, err := process.Go(all[0].System(), process.Options{}, calculator)
	require.NoError(t, err)
	back, err := process.Go(all[1].System(), process.Options{}, calculator)
	require.NoError(t, err)
	a, err := process.Call[question, answer](t.Context(), all[0].System(), back.PID(), question{1, 2})
	require.NoError(t, err, "answers pass a full window")
	require.Equal(t, answer{3}, a)
	waits := make(chan error, 1)
	go func() {
		_, err := process.Call[question, answer](t.Context(), all[1].System(), ref.PID(), question{1, 2})
		waits <- err
	}()
	before := l.count()
	require.LessOrEqual(t, before, 1)
	close(gate)
	require.NoError(t, <-waits)
	eventually(t, func() bool { return all[1].Flush(t.Context()) == nil })
	require.Empty(t, l.faults())
}

func TestFullMailboxesThatRefuseDropPlainMessages(t *testing.T) {
	var mu sync.Mutex
	dropped := 0
	all := three(t, func(i int, cfg *natscluster.Config) {
		cfg.Process.Dropped = func(_ process.PID, m any, why error) {
			mu.Lock()
			defer mu.Unlock()
			if _, ok := m.(plain); ok && i == 0 && why == process.ErrMailboxFull {
				dropped++
			}
		}
	})
	gate := make(chan struct{})
	l := newTally()
	pid := sink(t, all[0], process.Options{Mailbox: 16}, func(m any) {
		<-gate
		l.note(m.(plain).From, m.(plain).N, true)
	})
	for i := range 1000 {
		require.NoError(t, all[1].System().Send(t.Context(), pid, plain{pid, i}))
	}
	eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return dropped >= 1000-17
	})
	close(gate)
	eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return dropped+l.count() == 1000
	})
	require.Empty(t, l.faults())
}

func TestAPartitionIsReportedAndHeals(t *testing.T) {
	const lost = 3 * time.Second
	var mu sync.Mutex
	reported := map[int]bool{}
	nodes, proxies := behindProxies(t, func(cfg *natscluster.Config) {
		cfg.Lost = lost
		cfg.Process.Dropped = func(_ process.PID, m any, why error) {
			mu.Lock()
			defer mu.Unlock()
			if s, ok := m.(sure); ok && errors.Is(why, natscluster.ErrNodeLost) {
				reported[s.N] = true
			}
		}
	})
	arrived := map[int]int{}
	pid := sink(t, nodes[0], process.Options{Mailbox: -1}, func(m any) {
		mu.Lock()
		defer mu.Unlock()
		arrived[m.(sure).N]++
	})
	mine := sink(t, nodes[1], process.Options{}, func(any) {})
	far, near := watch(t, nodes[1], pid), watch(t, nodes[0], mine)
	silent := sink(t, nodes[0], process.Options{}, func(any) {})
	waits := make(chan error, 1)
	go func() {
		_, err := process.Call[question, answer](t.Context(), nodes[1].System(), silent, question{1, 2})
		waits <- err
	}()
	n := 0
	send := func() error {
		err := nodes[1].System().TrySend(pid, sure{mine, n})
		if err == nil {
			n++
		}
		return err
	}
	require.NoError(t, send())
	require.NoError(t, nodes[1].Flush(t.Context()))
	began := time.Now()
	proxies[0].partition()
	for range 100 {
		require.NoError(t, send())
	}
	require.Equal(t, natscluster.ErrNodeLost, <-far)
	t.Logf("told after %v, with Lost of %v", time.Since(began).Round(time.Millisecond), lost)
	require.Equal(t, natscluster.ErrNodeLost, <-near, "the other side of the partition")
	require.Equal(t, natscluster.ErrNodeLost, <-waits)
	if err := send(); err != nil { // else a late heartbeat has passed
		require.Equal(t, natscluster.ErrNodeLost, err)
	}
	proxies[0].heal()
	eventually(t, func() bool { return send() == nil })
	require.NoError(t, nodes[1].Flush(t.Context()))
	eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return arrived[n-1] == 1 || reported[n-1]
	})
	mu.Lock()
	defer mu.Unlock()
	for i := range n {
		require.LessOrEqual(t, arrived[i], 1, "message %d", i)
		require.True(t, arrived[i] == 1 || reported[i], "message %d is neither received nor reported", i)
	}
	t.Logf("%d messages: %d received, %d reported", n, len(arrived), len(reported))
}

func TestALeaseThatLapsesFreesTheNames(t *testing.T) {
	lostNames := make(chan string, 1)
	nodes, proxies := behindProxies(t, func(cfg *natscluster.Config) {
		cfg.Lost, cfg.Lease = 2*time.Second, 3*time.Second
		cfg.NameLost = func(name string, _ process.PID) { lostNames <- name }
	})
	ctx := t.Context()
	first := sink(t, nodes[0], process.Options{}, func(any) {})
	second := sink(t, nodes[1], process.Options{}, func(any) {})
	require.NoError(t, nodes[0].Register(ctx, "leader", first))
	require.Equal(t, process.ErrNameTaken, nodes[1].Register(ctx, "leader", second))
	proxies[0].partition()
	eventually(t, func() bool { return nodes[1].Register(ctx, "leader", second) == nil })
	found, err := nodes[2].Whereis(ctx, "leader")
	require.NoError(t, err)
	require.Equal(t, second, found)
	proxies[0].heal()
	select {
	case name := <-lostNames:
		require.Equal(t, "leader", name)
	case <-time.After(patience.Limit):
		t.Fatal("the first owner does not learn that it has lost the name")
	}
}

func TestHandlersOfTheUserDoNotReplaceThoseOfTheCluster(t *testing.T) {
	broken, again := make(chan struct{}, 10), make(chan struct{}, 10)
	reconnect := nats.ReconnectHandler(func(*nats.Conn) { again <- struct{}{} })
	disconnect := nats.DisconnectErrHandler(func(*nats.Conn, error) { broken <- struct{}{} })
	t.Run("one", func(t *testing.T) { breakTwice(t, again, reconnect) })
	require.Empty(t, broken)
	t.Run("both", func(t *testing.T) { breakTwice(t, again, reconnect, disconnect) })
	require.GreaterOrEqual(t, len(broken), 2, "and perhaps the end")
}

// breakTwice breaks the connection of a node, which then sends messages.
func breakTwice(t *testing.T, again <-chan struct{}, o ...nats.Option) {
	cfg := testConfig("")
	cfg.Lost = patience.Limit // nobody is lost
	host := join(t, cfg)
	p := newProxy(t, strings.TrimPrefix(host.URL(), "nats://"))
	cfg.URL, cfg.Types = p.url(), newTypes()
	cfg.Options = append(o, nats.ReconnectWait(time.Millisecond), nats.ReconnectJitter(0, 0))
	c := join(t, cfg)
	got := make(chan any, 10)
	pid := sink(t, host, process.Options{}, func(m any) { got <- m })
	for i := range 2 {
		require.NoError(t, c.System().TrySend(pid, sure{pid, i}))
		require.Equal(t, sure{pid, i}, <-got)
		p.cut()
		<-again
	}
	require.NoError(t, c.System().TrySend(pid, sure{pid, 2}))
	require.Equal(t, sure{pid, 2}, <-got)
}

func TestLongErrorsPass(t *testing.T) {
	all := three(t, nil)
	long := errors.New(strings.Repeat("x", 2<<20))
	ref, err := process.Go(all[1].System(), process.Options{}, func(cx *sched.Context, self *process.Inbox[*process.Request[question, answer]]) error {
		q, err := self.Receive(cx)
		if err == nil {
			q.Fail(long)
			_, err = self.Receive(cx)
		}
		return errors.Join(err, long)
	})
	require.NoError(t, err)
	reasons := make(chan error, 1)
	go func() {
		_, err := sched.Await(t.Context(), all[0].System().Done(ref.PID()))
		reasons <- err
	}()
	_, err = process.Call[question, answer](t.Context(), all[0].System(), ref.PID(), question{1, 2})
	require.Equal(t, &natscluster.RemoteError{Text: long.Error()[:4<<10]}, err)
	_, err = process.Call[question, answer](t.Context(), all[0].System(), ref.PID(), question{1, 2})
	require.Equal(t, process.ErrNoProcess, err)
	require.Error(t, <-reasons)
	require.NoError(t, all[1].Flush(t.Context()), "the pair of nodes goes on")
}
