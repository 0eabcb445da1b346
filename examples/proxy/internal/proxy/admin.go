package proxy

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/suiro-go/suiro/examples/proxy/internal/config"
	"github.com/suiro-go/suiro/examples/proxy/internal/status"
	suirometrics "github.com/suiro-go/suiro/metrics"
	"github.com/suiro-go/suiro/server"
)

// serveAdmin serves the console and the metrics, on the proxy's own workers.
func (p *Proxy) serveAdmin(c *config.Config) error {
	limit := c.AdminTimeout.Or(10 * time.Second)
	srv := &http.Server{
		Handler: &p.page, ReadHeaderTimeout: limit, ReadTimeout: limit, WriteTimeout: limit, IdleTimeout: 6 * limit,
		MaxHeaderBytes: 16 << 10,
	}
	h := server.HTTPServer(srv)
	if asks, ok := h.(server.Configurer); ok {
		asks.Configure(new(server.Needs)) // the workers are the proxy's, and there is no TLS
	}
	ln, err := net.Listen("tcp", c.Admin)
	if err != nil {
		return fmt.Errorf("admin: %w", err)
	}
	defer ln.Close() // the group has a copy
	p.mu.Lock()
	defer p.mu.Unlock()
	p.admin, err = p.group.Listen(ln, h)
	return err
}

// Admin is where that is; nil: nowhere.
func (p *Proxy) Admin() net.Addr {
	if p.admin == nil {
		return nil
	}
	return p.admin.Addr()
}

// Metrics implements admin.Server: the figures of the workers and connections, and of the routes.
func (p *Proxy) Metrics() []suirometrics.Family {
	return append(p.group.Metrics(), p.Snapshot().Metrics()...)
}

// Ready implements admin.Server.
func (p *Proxy) Ready() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return ErrEnded
	}
	return nil
}

// Group implements console.Server.
func (p *Proxy) Group() *server.Group { return p.group }

// Addrs implements console.Server. A listener that is ending is not among them.
func (p *Proxy) Addrs() (all []net.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.order {
		all = append(all, listening(p.listeners[a].at))
	}
	return all
}

// A listening is an address whose scheme stands for the network.
type listening config.Address

func (l listening) Network() string { return l.Scheme }
func (l listening) String() string  { return l.Host }

// Stopping implements console.Server.
func (p *Proxy) Stopping() bool { return p.Ready() != nil }

// Dump implements console.Server. It works while the workers are stuck.
func (p *Proxy) Dump(w io.Writer) error { return p.group.Dump(w) }

// Snapshot is how the proxy is.
func (p *Proxy) Snapshot() *status.Snapshot {
	s := &status.Snapshot{
		Backend: p.group.Backend(), Workers: p.group.Runtime().Workers(), Started: p.started,
		Connections: p.group.Len(), Clients: p.door.Live(),
		OverAll: p.door.OverAll.Load(), OverSource: p.door.OverSource.Load(), Junk: p.door.Junk.Load(),
		Goroutines: runtime.NumGoroutine(), Descriptors: descriptors(), Heap: heap(),
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.order {
		s.Listeners = append(s.Listeners, p.listeners[a].at.String())
	}
	for _, r := range p.routes {
		v := status.Route{
			Name: r.Name, Balance: string(r.Balance), Active: r.Active.Load(), Accepted: r.Accepted.Load(), Refused: r.Refused.Load(),
			Failed: r.Failed.Load(), Broken: r.Broken.Load(), Retried: r.Retried.Load(), Requests: r.Requests.Load(), Dropped: r.Dropped.Load(), Evicted: r.Evicted.Load(),
		}
		if v.Balance == "" {
			v.Balance = string(config.RoundRobin)
		}
		for _, a := range r.Sockets() {
			if l := p.listeners[a]; l != nil { // else the proxy is ending
				v.Listen = append(v.Listen, l.at.String())
			}
		}
		v.In, v.Out = r.Bytes()
		for _, u := range r.Set.All() {
			v.Upstreams = append(v.Upstreams, u.State())
		}
		s.Routes = append(s.Routes, v)
	}
	return s
}

func descriptors() int {
	dir, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(dir)
}

func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
