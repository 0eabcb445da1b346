package server

import "github.com/suiro-go/suiro/conn"

// Needs are what a Handler asks of the Server whose Handler it is.
type Needs struct {
	// Goroutines says that the handler does little but wake goroutines: the server then
	// has the workers and the backend that Listen describes, unless it says otherwise.
	Goroutines bool

	// TLS, if not nil, may change how connections shake hands, before the first does. Its
	// Config is a copy.
	TLS func(*conn.TLSConfig)

	// Shutdown, if not nil, is called when Shutdown begins, after the listeners were
	// closed and before any handler is told by OnDrain.
	Shutdown func(*conn.Group)

	// Stopped, if not nil, is called when Shutdown or Close has ended all connections, before
	// that returns. It is not called after an error that matches conn.ErrStuck.
	Stopped func()
}

// A Configurer is a Handler with Needs. A Server asks its Handler, and the handlers within
// it that Unwrap returns, once, when it starts: the first that is one answers.
type Configurer interface {
	Handler

	// Configure says what the handler needs.
	Configure(*Needs)
}

// needsOf asks a handler.
func needsOf(h Handler) (n Needs) {
	if c, ok := conn.As[Configurer](h); ok {
		c.Configure(&n)
	}
	return n
}
