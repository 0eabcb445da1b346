package upstream

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/suiro-go/suiro/examples/proxy/internal/config"
)

// A Dial establishes a connection to ask on, over TLS if the address says so.
type Dial func(ctx context.Context, to config.Address) (net.Conn, error)

// Ask asks each upstream of the set how it is, each on a goroutine, until ctx ends, and then
// returns. Upstreams that another set asks are left out.
func (s *Set) Ask(ctx context.Context, h config.Health, dial Dial, log *slog.Logger) {
	var all sync.WaitGroup
	for _, m := range s.members {
		if !m.asks {
			continue
		}
		u := m.Upstream
		all.Go(func() {
			tick := time.NewTicker(time.Duration(h.Interval))
			defer tick.Stop()
			for {
				err := u.ask(ctx, h, dial)
				if ctx.Err() != nil {
					return
				}
				if u.answered(err) {
					log.Warn("upstream turned", "upstream", u.Address.String(), "healthy", err == nil, "error", err)
				}
				select {
				case <-tick.C:
				case <-ctx.Done():
					return
				}
			}
		})
	}
	all.Wait()
}

func (u *Upstream) ask(ctx context.Context, h config.Health, dial Dial) error {
	ctx, cancel := context.WithTimeout(ctx, h.Timeout.Or(2*time.Second))
	defer cancel()
	if h.Path == "" {
		c, err := dial(ctx, u.Address)
		if err != nil {
			return err
		}
		return c.Close()
	}
	t := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dial(ctx, u.Address)
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+u.Host()+h.Path, http.NoBody)
	if err != nil {
		return err
	}
	res, err := t.RoundTrip(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode < 200 || res.StatusCode > 399 {
		return fmt.Errorf("%s answers %s", h.Path, res.Status)
	}
	return nil
}
