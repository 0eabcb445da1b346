package route

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"slices"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/examples/proxy/internal/config"
	"github.com/suiro-go/suiro/server"
)

// A Secrets is the TLS of the routes of one configuration, by the settings and files that it is
// made of. Routes with the same settings share it, and so does the next configuration. The zero
// value is ready.
type Secrets struct {
	fronts map[string]*tls.Config
	backs  map[string]*back
}

// A back is TLS to upstreams, and the connections that wait for a request.
type back struct {
	tls  *tls.Config
	pool *server.Pool
}

// New makes a route of its configuration. It reads the files that this names. secrets are those of
// the new configuration, and old those of the configuration before. As long as the certificate is
// the same, session tickets stay valid. As long as upstream_tls is the same, so do connections that
// wait for a request.
func New(r *config.Route, counts *Counts, secrets, old *Secrets, group func() *conn.Group, pool *server.Pool) (*Route, error) {
	route := &Route{Route: r, Counts: counts, Group: group, Pool: pool}
	if err := route.makeFront(secrets, old); err != nil {
		return nil, fmt.Errorf("route %q: tls: %w", r.Name, err)
	}
	if err := route.makeBack(secrets, old); err != nil {
		return nil, fmt.Errorf("route %q: upstream_tls: %w", r.Name, err)
	}
	return route, nil
}

// makeFront makes the configuration by which TLS is terminated, if the route does that.
func (r *Route) makeFront(secrets, old *Secrets) error {
	if r.TLS == nil {
		return nil
	}
	cert, err := os.ReadFile(r.TLS.Certificate)
	if err != nil {
		return err
	}
	key, err := os.ReadFile(r.TLS.Key)
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("%s, %s: %w", r.TLS.Certificate, r.TLS.Key, err)
	}
	r.front = known(&secrets.fronts, old.fronts, string(cert)+"\x00"+string(key), func() *tls.Config {
		return &tls.Config{Certificates: []tls.Certificate{pair}}
	})
	return nil
}

// makeBack makes the configuration of TLS to upstreams, and the pool of such connections.
func (r *Route) makeBack(secrets, old *Secrets) error {
	u := r.UpstreamTLS
	r.back = &tls.Config{ServerName: u.ServerName, InsecureSkipVerify: u.Insecure}
	var pem []byte
	if u.CA != "" {
		var err error
		if pem, err = os.ReadFile(u.CA); err != nil {
			return err
		}
		r.back.RootCAs = x509.NewCertPool()
		if !r.back.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("%s has no certificate", u.CA)
		}
	}
	text := fmt.Sprintf("%q %v %v %s", u.ServerName, u.Insecure, r.ConnectTimeout, pem)
	b := known(&secrets.backs, old.backs, text, func() *back {
		return &back{r.back, &server.Pool{
			Dialer: r.Dialer(config.Address{Scheme: "tls"}), BackOff: r.Pool.BackOff, MaxIdle: r.Pool.MaxIdle,
			MaxIdleTotal: r.Pool.MaxIdleTotal, Check: r.Pool.Check,
		}}
	})
	r.back, r.secret = b.tls, b.pool
	return nil
}

// known returns what all or old has for a text, or else makes it, and adds it to all.
func known[T any](all *map[string]T, old map[string]T, text string, make func() T) T {
	v, ok := (*all)[text]
	if !ok {
		if v, ok = old[text]; !ok {
			v = make()
		}
		if *all == nil {
			*all = map[string]T{}
		}
		(*all)[text] = v
	}
	return v
}

// Admits reports whether connections that have come by an older route may take this one: behind
// the same PROXY headers, and either both within TLS that is terminated here, or both without.
func (r *Route) Admits(old *Route) bool {
	return slices.Equal(r.ProxyFrom, old.ProxyFrom) && (r.front == nil) == (old.front == nil)
}

// Handshakes reports whether the TLS of connections that have come by an older route is still that
// of this one.
func (r *Route) Handshakes(old *Route) bool { return r.front == old.front }
