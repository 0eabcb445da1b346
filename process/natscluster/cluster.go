package natscluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/suiro-go/suiro/blocking"
	"github.com/suiro-go/suiro/dispatch"
	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
)

// A Cluster is this node's part of a cluster. Make it with Join. Any goroutine may call its
// methods.
type Cluster struct {
	cfg      Config
	node     uint64
	sys      *process.System
	server   *natsServer // nil: it runs elsewhere
	nc       *nats.Conn
	prefix   string // of subjects
	window   uint64
	maxFrame atomic.Int64 // bytes that NATS allows
	began    time.Time
	ctx      context.Context // ends when the node has left
	cancel   context.CancelFunc
	running  sync.WaitGroup
	lastID   atomic.Uint64 // of calls and monitors

	receiving    sync.Mutex // held by receive
	otherVersion sync.Once  // logs

	connMu    sync.Mutex
	connected chan struct{} // closed while there is a connection

	mu    sync.RWMutex
	peers map[uint64]*peer
	losts map[uint64]lostNode
	floor uint64 // the first epoch of nodes that are not in losts
	left  bool

	callsMu  sync.Mutex
	calls    map[uint64]*call
	requests map[any]uint64 // the ids of calls

	groupsMu sync.Mutex          // taken before a peer's lock
	groups   map[string]struct{} // that have members here, or have had them

	names names
	pool  blocking.Pool // of calls that wait
}

// Join connects a node, and makes its process.System. It does not wait for other nodes. ctx bounds
// the wait for the NATS server. Join blocks the calling goroutine.
func Join(ctx context.Context, cfg Config) (*Cluster, error) {
	cfg.defaults()
	if !clusterName.MatchString(cfg.Cluster) {
		return nil, fmt.Errorf("natscluster: Config.Cluster is %q", cfg.Cluster)
	}
	c := &Cluster{
		cfg: cfg, node: rand.Uint64() | 1, prefix: "suiro." + cfg.Cluster + ".", window: uint64(cfg.Window), began: time.Now(),
		connected: make(chan struct{}), peers: make(map[uint64]*peer), losts: make(map[uint64]lostNode), floor: 1,
		calls: make(map[uint64]*call), requests: make(map[any]uint64), groups: make(map[string]struct{}),
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	if err := c.connect(ctx); err != nil {
		c.stop()
		return nil, err
	}
	cfg.Process.Node, cfg.Process.Remote = c.node, remote{c}
	c.sys = process.New(cfg.Process)
	if err := c.listen(); err != nil {
		c.stop()
		return nil, errors.Join(err, c.sys.Shutdown(ctx))
	}
	c.running.Add(1)
	go c.beat()
	return c, nil
}

// connect connects to the server, which it starts if it is to run here.
func (c *Cluster) connect(ctx context.Context) (err error) {
	o := append([]nats.Option{
		nats.Name("suiro " + c.nodeName()), nats.MaxReconnects(-1), nats.ReconnectWait(c.cfg.Lost / 20), nats.ReconnectJitter(c.cfg.Lost/20, c.cfg.Lost/20),
		nats.PingInterval(c.cfg.Lost / 3), nats.MaxPingsOutstanding(2), nats.FlusherTimeout(c.cfg.Lost), nats.Timeout(c.cfg.Lost),
		nats.IgnoreAuthErrorAbort(),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			c.cfg.Logger.Warn("natscluster: NATS", "error", err)
		}),
	}, c.cfg.Options...)
	o = append(o, c.wrapHandlers) // the last: it sees the handlers of Config.Options
	url := c.cfg.URL
	if url == "" {
		if c.server, err = startServer(c.cfg.Embedded); err != nil {
			return err
		}
		o = append(o, nats.InProcessServer(c.server.Server))
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.nc, err = nats.Connect(url, o...)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		<-done // bounded by nats.Timeout for each server
		err = cmp.Or(err, ctx.Err())
	}
	if err != nil {
		return fmt.Errorf("natscluster: connecting: %w", err)
	}
	c.setConnected(true)
	c.maxFrame.Store(min(c.nc.MaxPayload(), maxFrame))
	return nil
}

// wrapHandlers adds the handlers of the cluster. The user's handlers run after them.
func (c *Cluster) wrapHandlers(o *nats.Options) error {
	reconnected, disconnected, closed := o.ReconnectedCB, o.DisconnectedErrCB, o.ClosedCB
	if old := o.DisconnectedCB; disconnected == nil && old != nil {
		disconnected = func(nc *nats.Conn, _ error) { old(nc) }
	}
	o.ReconnectedCB = func(nc *nats.Conn) {
		c.reconnected(nc)
		if reconnected != nil {
			reconnected(nc)
		}
	}
	o.DisconnectedErrCB = func(nc *nats.Conn, err error) {
		c.setConnected(false)
		if disconnected != nil {
			disconnected(nc, err)
		}
	}
	o.ClosedCB = func(nc *nats.Conn) {
		if c.ctx.Err() == nil {
			c.cfg.Logger.Error("natscluster: the connection is closed for good; all nodes will be lost", "error", nc.LastError())
		}
		if closed != nil {
			closed(nc)
		}
	}
	return nil
}

// reconnected handles a new connection, which may be to another server. If that one allows only
// smaller frames, all peers begin an epoch: frames that wait may be too large for it.
func (c *Cluster) reconnected(nc *nats.Conn) {
	allowed := min(nc.MaxPayload(), maxFrame)
	if c.maxFrame.Swap(allowed) > allowed {
		for _, p := range c.all() {
			p.mu.Lock()
			next := p.epoch + 1
			p.mu.Unlock()
			p.reset(next)
		}
		c.sendHeartbeat() // it tells the epochs
	}
	c.setConnected(true)
}

// maxFrame is the size in bytes of frames, unless NATS allows less.
const maxFrame = 64 << 20

// listen subscribes to frames and heartbeats. NATS calls receive and heartbeat from one goroutine
// each, which the Codec must not exit. The windows of the other nodes bound the frames that wait
// for them.
func (c *Cluster) listen() error {
	for subject, handle := range map[string]nats.MsgHandler{c.subject(c.node): c.receive, c.prefix + "all": c.heartbeat} {
		s, err := c.nc.Subscribe(subject, func(m *nats.Msg) { apart(func() { handle(m) }) })
		if err == nil {
			err = s.SetPendingLimits(-1, -1)
		}
		if err != nil {
			return fmt.Errorf("natscluster: subscribing: %w", err)
		}
	}
	return c.nc.FlushTimeout(c.cfg.Lost)
}

// System has the processes of this node.
func (c *Cluster) System() *process.System { return c.sys }

// Node is this node's number, and PID.Node of its processes.
func (c *Cluster) Node() uint64 { return c.node }

// Nodes are the other nodes that are not lost, in no order.
func (c *Cluster) Nodes() []uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	nodes := make([]uint64, 0, len(c.peers))
	for node, p := range c.peers {
		if p.heard {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// URL is where other nodes connect.
func (c *Cluster) URL() string {
	if c.server != nil {
		return c.server.ClientURL()
	}
	return c.cfg.URL
}

// Flush waits until all other nodes have confirmed the messages that are AtLeastOnce and were sent
// before. It waits as sched.Await does.
func (c *Cluster) Flush(ctx context.Context) error {
	_, err := wait(ctx, c, func(ctx context.Context) (struct{}, error) { return struct{}{}, c.flush(ctx) })
	return err
}

// wait calls fn on the pool, since fn blocks its goroutine. A task that waits is suspended. The
// context of fn ends with the node, too.
func wait[T any](ctx context.Context, c *Cluster, fn func(ctx context.Context) (T, error)) (T, error) {
	v, err := dispatch.On(ctx, dispatch.IO(&c.pool), func(ctx context.Context) (T, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(c.ctx, cancel)()
		return fn(ctx)
	})
	if err != nil && c.ctx.Err() != nil && ctx.Err() == nil && !errors.Is(err, sched.ErrBlocksWorker) {
		err = ErrClosed
	}
	return v, err
}

func (c *Cluster) flush(ctx context.Context) error {
	for _, p := range c.all() {
		done := make(chan struct{})
		p.mu.Lock()
		if p.ended || p.unconfirmed() > p.seq {
			p.mu.Unlock()
			continue
		}
		p.flushed = append(p.flushed, flush{p.seq, done})
		p.probe = true
		p.mu.Unlock()
		p.nudge()
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Shutdown ends the System by System.Shutdown, waits for Flush, and leaves the cluster: the other
// nodes learn of it at once. It stops the embedded server. In a process it does nothing, and
// returns sched.ErrBlocksWorker.
func (c *Cluster) Shutdown(ctx context.Context) error {
	err := c.sys.Shutdown(ctx)
	if errors.Is(err, sched.ErrBlocksWorker) {
		return err
	}
	c.releaseNames(ctx)
	if flushed := c.flush(ctx); flushed != nil {
		err = errors.Join(err, fmt.Errorf("natscluster: messages that are not confirmed: %w", flushed))
	}
	c.leave()
	b := make([]byte, frameHeader)
	(&header{kind: frameLeave, node: c.node}).put(b)
	_ = c.nc.Publish(c.prefix+"all", b)
	_ = c.nc.FlushTimeout(c.cfg.Lost) // else the others find out by themselves
	for _, p := range c.all() {
		c.lose(p)
	}
	c.stop()
	return err
}

// leave makes find return no new peers.
func (c *Cluster) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = true
}

// stop ends the connection, the goroutines and the server.
func (c *Cluster) stop() {
	c.leave()
	c.cancel()
	if c.nc != nil {
		c.nc.Close()
	}
	for _, l := range []sync.Locker{&c.receiving, &c.names.opening} { // later ones see that ctx has ended
		pass(l)
	}
	c.running.Wait()
	_ = c.pool.Shutdown(context.Background()) // its calls end with ctx
	if c.server != nil {
		c.server.stop()
	}
}

// pass waits until nobody has the lock.
func pass(l sync.Locker) {
	l.Lock()
	defer l.Unlock()
}

// now is the time since Join began.
func (c *Cluster) now() time.Duration { return time.Since(c.began) }

func (c *Cluster) nodeName() string { return fmt.Sprintf("%016x", c.node) }

func (c *Cluster) subject(node uint64) string { return fmt.Sprintf("%sn.%016x", c.prefix, node) }

// publish sends a frame. One that is numbered is sent again if it does not arrive.
func (c *Cluster) publish(subject string, b []byte) {
	if err := c.nc.Publish(subject, b); err != nil && c.ctx.Err() == nil {
		c.cfg.Logger.Warn("natscluster: publishing", "error", err)
	}
}

func (c *Cluster) setConnected(yes bool) {
	c.connMu.Lock()
	defer c.connMu.Unlock()
	select {
	case <-c.connected:
		if !yes {
			c.connected = make(chan struct{})
		}
	default:
		if yes {
			close(c.connected)
		}
	}
}

// awaitConnected waits for a connection. false: the node leaves.
func (c *Cluster) awaitConnected() bool {
	c.connMu.Lock()
	connected := c.connected
	c.connMu.Unlock()
	select {
	case <-connected:
		return c.ctx.Err() == nil
	case <-c.ctx.Done():
		return false
	}
}

// parse parses a frame. It logs frames that are malformed.
func (c *Cluster) parse(b []byte, from, to byte) (h header, rest []byte, ok bool) {
	h, rest, ok = parseHeader(b)
	switch {
	case len(b) > 0 && b[0] != protocolVersion:
		c.otherVersion.Do(func() {
			c.cfg.Logger.Warn("natscluster: a node has another version of the protocol; its frames are dropped", "version", b[0])
		})
		return h, nil, false
	case !ok || h.kind < from || h.kind > to:
		c.malformed(h.node)
		return h, nil, false
	}
	return h, rest, true
}

func (c *Cluster) malformed(node uint64) {
	c.cfg.Logger.Warn("natscluster: malformed frame", "node", node)
}
