// Package proxy is the whole of the proxy: listeners, routes, and how both change and end.
package proxy

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"syscall"
	"time"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/examples/proxy/internal/config"
	"github.com/suiro-go/suiro/examples/proxy/internal/gateway"
	"github.com/suiro-go/suiro/examples/proxy/internal/limit"
	"github.com/suiro-go/suiro/examples/proxy/internal/route"
	"github.com/suiro-go/suiro/examples/proxy/internal/status"
	"github.com/suiro-go/suiro/examples/proxy/internal/upstream"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// A Proxy is one that runs. Its methods may be called from any goroutine, but not a worker's.
type Proxy struct {
	group   *conn.Group
	log     *slog.Logger
	access  *slog.Logger
	started time.Time
	drain   time.Duration
	door    limit.Door

	fixed     config.Config      // what a reload cannot change
	ending    context.Context    // ends with the proxy, and with it a reload that waits for DNS
	end       context.CancelFunc // ends ending
	page      page
	reloading sync.Mutex // has one reload at a time; taken before mu

	mu        sync.Mutex // guards the fields below; never held during a wait for the network
	listeners map[config.Socket]*listener
	order     []config.Socket
	counts    map[string]*route.Counts
	routes    []*route.Route
	secrets   *route.Secrets
	known     upstream.Registry
	pool      server.Pool
	asking    func() // ends the health checks, and waits for that
	admin     *conn.Listener
	ended     bool
}

// hold is how long a worker waits with its processor kept. The timer that ends it fires that often
// under load: with the 1 ms that sched has by default a message costs 7 % more at 10,000 a second,
// and some meet it. Nothing here is in a hurry for a processor meanwhile, neither questions about
// health nor the console; and 10 ms is the time slice that goroutines have of each other
// anyway.
const hold = 10 * time.Millisecond

// ErrEnded is the error of calls on a Proxy that is ending.
var ErrEnded = errors.New("proxy: it is ending")

// New starts a proxy. Later errors go to the log, and each connection does if the configuration
// says so.
func New(c *config.Config, log *slog.Logger) (*Proxy, error) {
	p := &Proxy{log: log, access: log, started: time.Now(), fixed: *c, asking: func() {}, secrets: new(route.Secrets), listeners: map[config.Socket]*listener{}, counts: map[string]*route.Counts{}}
	p.ending, p.end = context.WithCancel(context.Background())
	var err error
	p.group, err = conn.NewGroup(
		conn.Config{Logger: slog.New(limitLog(log.Handler(), c.LogRate)), Reactor: reactor.Config{Backend: c.Backend, Coalesce: time.Duration(c.Coalesce)}},
		sched.Config{Workers: c.Workers, Hold: hold, BusyPoll: time.Duration(c.BusyPoll)})
	if err != nil {
		return nil, err
	}
	p.pool.Dialer.Group = func() *conn.Group { return p.group }
	p.pool.BackOff, p.pool.MaxIdle = -1, 64 // the upstreams' health says whom to leave alone
	p.pool.Check = gateway.Mark
	p.pool.MaxIdleTotal = limit.Idle()
	err = untilFree(func() error { return p.Reload(c) })
	if err == nil && c.Admin != "" {
		err = untilFree(func() error { return p.serveAdmin(c) })
	}
	if err != nil {
		_ = p.Close()
		return nil, err
	}
	return p, nil
}

// The kernel keeps the sockets of an io_uring for some milliseconds after its process was killed.
// So a start tries an address in use again for a while, as package server does.
const (
	inUsePatience = 500 * time.Millisecond
	inUsePause    = 5 * time.Millisecond
)

// untilFree calls start until it returns anything but syscall.EADDRINUSE, or for inUsePatience.
func untilFree(start func() error) error {
	for tries := inUsePatience / inUsePause; ; tries-- {
		if err := start(); !errors.Is(err, syscall.EADDRINUSE) || tries == 0 {
			return err
		}
		time.Sleep(inUsePause)
	}
}

// Reload gives the proxy another configuration: each connection, request and datagram from now on
// takes it. Requests in flight and TCP connections go on with the configuration of before, and
// listeners that are in both stay open. The state of upstreams is kept. With an error nothing has
// changed. A change of a setting that is fixed at the start is an error.
func (p *Proxy) Reload(c *config.Config) error {
	p.reloading.Lock()
	defer p.reloading.Unlock()
	err := c.Unchanged(&p.fixed)
	if err == nil {
		err = resolve(p.ending, c)
	}
	if err == nil {
		err = c.Check() // again: two names may be one address
	}
	var end func()
	if err == nil {
		end, err = p.adopt(c)
	}
	switch {
	case err == nil:
		end()
	case p.ending.Err() != nil:
		err = ErrEnded
	}
	return err
}

// adopt gives the proxy a configuration whose names are resolved. The function that it returns ends
// the health checks of the one before, and waits for the sockets that are closed.
func (p *Proxy) adopt(c *config.Config) (end func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return nil, ErrEnded
	}
	routes, secrets := make([]*route.Route, len(c.Routes)), new(route.Secrets)
	counts := map[string]*route.Counts{}
	for i, r := range c.Routes {
		n := p.counts[r.Name]
		if n == nil {
			n = new(route.Counts)
		}
		counts[r.Name] = n
		if routes[i], err = route.New(r, n, secrets, p.secrets, p.pool.Dialer.Group, &p.pool); err != nil {
			return nil, err
		}
		if c.AccessLog {
			routes[i].Access = p.access
		}
	}
	sets, commit := p.known.Sets(c.Routes)
	for i, r := range c.Routes {
		routes[i].Set = sets[r]
	}
	all := plan(routes, c.KeepAlive.Or(15*time.Second))
	fresh, err := p.bind(all)
	if err != nil {
		return nil, err
	}
	commit() // from here on nothing fails
	for name, n := range p.counts {
		if counts[name] == nil && n.Active.Load() > 0 { // the route may come back, and its connections count then
			counts[name] = n
		}
	}
	closed := p.commit(all, fresh)
	p.page.show(p, status.Guard{Token: c.AdminToken, Hosts: c.AdminHosts})
	p.divide(routes)
	p.door.Set(limit.Defaults(c.MaxConnections, c.MaxPerSource))
	p.routes, p.secrets, p.counts, p.drain = routes, secrets, counts, c.Drain.Or(30*time.Second)
	stop := p.asking
	p.asking = p.ask(routes)
	return func() {
		stop()
		p.await(closed)
	}, nil
}

// divide divides the descriptors among the kinds of routes that there are, and the pools that they
// use.
func (p *Proxy) divide(routes []*route.Route) {
	var clients, sessions bool
	pools := map[*server.Pool]bool{}
	for _, r := range routes {
		clients = clients || r.Kind() != "udp"
		sessions = sessions || r.Kind() == "udp"
		for _, u := range r.Upstreams {
			if r.Kind() == "http" {
				pools[r.PoolOf(u.Address)] = true
			}
		}
	}
	p.door.Budget.Divide(clients, sessions, len(pools))
}

// ask begins the health checks of the routes' upstreams.
func (p *Proxy) ask(routes []*route.Route) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for _, r := range routes {
		if r.Health.Interval > 0 {
			all.Go(func() { r.Set.Ask(ctx, r.Health, r.Connect, p.log) })
		}
	}
	return func() {
		cancel()
		all.Wait()
	}
}

// Addresses are where it listens, in the order of the configuration.
func (p *Proxy) Addresses() (all []config.Address) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.order {
		all = append(all, p.listeners[a].at)
	}
	return all
}

// Shutdown closes the listeners, and waits until the connections have ended, for as long as the
// configuration says or until ctx ends. Then it resets the rest. If a handler does
// not return, its error matches conn.ErrStuck, a second later.
func (p *Proxy) Shutdown(ctx context.Context) error {
	p.mu.Lock()
	if p.ended {
		p.mu.Unlock()
		return ErrEnded
	}
	p.ended = true
	p.end()
	p.closeListeners()
	end, limit := p.asking, p.drain
	p.mu.Unlock()
	end()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := p.group.Shutdown(ctx); err != nil { // connections to upstreams after those of clients
		p.log.Warn("connections are reset that have not ended in time", "connections", p.group.Len())
	}
	_ = p.pool.Close()
	cancel()
	return p.group.Stop(ctx)
}

// Close is Shutdown without waiting.
func (p *Proxy) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return p.Shutdown(ctx)
}
