package server

import "github.com/suiro-go/suiro/metrics"

// Metrics returns the figures of the server's group (see conn.Group.Metrics) and of the goroutines
// that resolve names for all Dialers. A group that servers share has all of their connections, so
// gather the group instead, once. The figures with pool="resolver" are those of the process, so the
// sources of two servers count them twice. Before the server serves there are no figures. Any
// goroutine may call it.
func (s *Server) Metrics() []metrics.Family {
	group := s.Group()
	if group == nil {
		return nil
	}
	return append(group.Metrics(), resolvingSource.Metrics()...)
}

var resolvingSource = metrics.WithLabels(resolving, metrics.Label{Name: "pool", Value: "resolver"})

var _ metrics.Source = (*Server)(nil)
