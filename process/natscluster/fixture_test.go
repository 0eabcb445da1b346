package natscluster_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/leaks"
	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/process/natscluster"
	"github.com/suiro-go/suiro/sched"
)

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		child()
		return
	}
	leaks.Exit(m.Run())
}

// The messages of the tests.
type (
	plain struct {
		From process.PID
		N    int
	}
	sure struct {
		From process.PID
		N    int
	}
	question struct{ X, Y int }
	answer   struct{ Sum int }
)

func newTypes() *natscluster.Types {
	t := natscluster.NewTypes()
	natscluster.Register[plain](t, "plain", natscluster.AtMostOnce)
	natscluster.Register[sure](t, "sure", natscluster.AtLeastOnce)
	natscluster.RegisterCall[question, answer](t, "add")
	natscluster.RegisterCall[string, process.PID](t, "who")
	return t
}

// testConfig has a Lost that outlasts a busy machine. Tests of lost nodes have a shorter one, the
// same for all their nodes.
func testConfig(url string) natscluster.Config {
	return natscluster.Config{URL: url, Types: newTypes(), Lost: 10 * time.Second, Process: process.Config{Grace: -1}}
}

// join joins a node, which leaves at the end of the test.
func join(t testing.TB, cfg natscluster.Config) *natscluster.Cluster {
	t.Helper()
	c, err := natscluster.Join(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { leave(t, c) })
	return c
}

func leave(t testing.TB, c *natscluster.Cluster) {
	ctx, cancel := context.WithTimeout(context.Background(), patience.Limit)
	defer cancel()
	if c.Node() != 0 {
		require.NoError(t, c.Shutdown(ctx))
	}
}

// three joins three nodes, and waits until they know each other. The first one has the server.
func three(t testing.TB, change func(i int, cfg *natscluster.Config)) (all []*natscluster.Cluster) {
	t.Helper()
	url := ""
	for i := range 3 {
		cfg := testConfig(url)
		if change != nil {
			change(i, &cfg)
		}
		all = append(all, join(t, cfg))
		url = all[0].URL()
	}
	for _, c := range all {
		eventually(t, func() bool { return len(c.Nodes()) == 2 })
	}
	return all
}

func eventually(t testing.TB, done func() bool) {
	t.Helper()
	require.Eventually(t, done, patience.Limit, time.Millisecond)
}

// A sink is a process that gives its messages to the test.
func sink(t testing.TB, c *natscluster.Cluster, o process.Options, got func(m any)) process.PID {
	t.Helper()
	ref, err := process.Go(c.System(), o, func(cx *sched.Context, self *process.Inbox[any]) error {
		for {
			m, err := self.Receive(cx)
			if err != nil {
				return err
			}
			if m == "end" {
				return errEnd
			}
			got(m)
		}
	})
	require.NoError(t, err)
	return ref.PID()
}

var errEnd = errors.New("end")

// calculator answers questions. It ends without an answer if X is negative.
func calculator(cx *sched.Context, self *process.Inbox[*process.Request[question, answer]]) error {
	for {
		q, err := self.Receive(cx)
		if err != nil {
			return err
		}
		switch {
		case q.Body.X < 0:
			return errEnd
		case q.Body.X == 0:
			q.Fail(errors.New("zero"))
		default:
			q.Reply(answer{q.Body.X + q.Body.Y})
		}
	}
}

// A proxy is a TCP proxy before a NATS server, which can fail.
type proxy struct {
	net.Listener
	to string

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	silent chan struct{} // closed: bytes pass
	closed bool
	all    sync.WaitGroup
}

func newProxy(t testing.TB, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{Listener: l, to: to, conns: map[net.Conn]struct{}{}, silent: make(chan struct{})}
	close(p.silent)
	p.all.Go(p.serve)
	t.Cleanup(func() {
		l.Close()
		p.heal()
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		p.cut()
		p.all.Wait()
	})
	return p
}

func (p *proxy) url() string { return "nats://" + p.Addr().String() }

func (p *proxy) serve() {
	for {
		c, err := p.Accept()
		if err != nil {
			return
		}
		s, err := net.Dial("tcp", p.to)
		if err != nil {
			c.Close()
			continue
		}
		p.mu.Lock()
		closed := p.closed
		p.conns[c], p.conns[s] = struct{}{}, struct{}{}
		p.mu.Unlock()
		if closed {
			c.Close()
			s.Close()
		}
		p.all.Go(func() { p.pass(c, s) })
		p.all.Go(func() { p.pass(s, c) })
	}
}

// pass passes bytes on, unless the proxy is silent. It then drops the rest of the connection.
func (p *proxy) pass(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	b := make([]byte, 16<<10)
	for {
		n, err := from.Read(b)
		p.mu.Lock()
		passes := p.silent
		p.mu.Unlock()
		select {
		case <-passes:
		default:
			<-passes
			err = io.ErrUnexpectedEOF // a gap breaks the stream
			n = 0
		}
		if _, failed := to.Write(b[:n]); failed != nil || err != nil {
			p.mu.Lock()
			delete(p.conns, from)
			p.mu.Unlock()
			return
		}
	}
}

// cut closes all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

// partition drops all bytes until heal.
func (p *proxy) partition() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = make(chan struct{})
}

func (p *proxy) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.silent:
	default:
		close(p.silent)
	}
}

// A tally counts numbered messages of senders.
type tally struct {
	mu    sync.Mutex
	next  map[process.PID]int
	wrong []string
	total int
}

func newTally() *tally { return &tally{next: map[process.PID]int{}} }

// note notes a message. gaps says whether numbers may be missing.
func (l *tally) note(from process.PID, n int, gaps bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total++
	if next := l.next[from]; n < next || n > next && !gaps {
		l.wrong = append(l.wrong, fmt.Sprintf("%v sent %d, not %d", from, n, next))
	}
	l.next[from] = n + 1
}

func (l *tally) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

func (l *tally) faults() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wrong
}
