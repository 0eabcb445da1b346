package server

import "github.com/suiro-go/suiro/conn"

// Needs are the requests of a Handler to its Server. The zero value asks for nothing.
type Needs struct {
	// Goroutines says that the handler does little but wake goroutines. The server then has the
	// workers and the backend that Listen describes, unless its fields say otherwise.
	Goroutines bool

	// TLS, if not nil, may change the TLS configuration before the first handshake. Its Config is a
	// copy.
	TLS func(*conn.TLSConfig)

	// Shutdown, if not nil, is called when Shutdown begins: after the listeners were closed and
	// before the first OnDrain.
	Shutdown func(*conn.Group)

	// Stopped, if not nil, is called when Shutdown or Close has ended all connections, before
	// that returns. It is not called after an error that matches conn.ErrStuck.
	Stopped func()
}

// A Configurer is a Handler with Needs. A Server asks once, when it starts: its Handler first, then
// the handlers within it that Unwrap returns. It uses the first Configurer.
type Configurer interface {
	Handler

	// Configure sets fields of Needs, which are zero. Only the Server calls it.
	Configure(*Needs)
}

// isStackful reports whether a handler, or a handler within it, is Stackful and says so.
func isStackful(h Handler) bool {
	s, ok := conn.As[Stackful](h)
	return ok && s.Stackful()
}

// stackful reports whether the server runs functions on coroutines, of its handlers or of tasks.
func (s *Server) stackful() bool {
	p, ok := s.Packets.(Stackful)
	return s.tasks || isStackful(s.Handler) || ok && p.Stackful()
}

// needsOf returns the Needs of a handler.
func needsOf(h Handler) (n Needs) {
	if c, ok := conn.As[Configurer](h); ok {
		c.Configure(&n)
	}
	return n
}
