package server

// Ready returns nil while the server serves. Before that the error is ErrNotServing. From the
// beginning of Shutdown or Close on it is ErrDraining. It is for probes of load balancers. Any
// goroutine may call it.
func (s *Server) Ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopping:
		return ErrDraining
	case s.group == nil:
		return ErrNotServing
	}
	return nil
}
