package conn

// A Wrapper is a Handler around another one. It adds something, and passes the calls on, as
// embedding the Handler does. Unwrap is the way to the other features of the Handler within, as
// http.ResponseController finds those of an http.ResponseWriter. Logs have the type of the Wrapper,
// or what a method HandlerName() string of it returns.
//
// Sequential and Conn.Lend replace the Wrapper by a handler of their own. It then sees OnOpen,
// OnDrain and OnClose, and no bytes. SetHandler and PassTo end a Wrapper's part. A Wrapper
// belongs within ServeTLS, ConnectTLS and the PROXY protocol, not around them.
type Wrapper interface {
	Handler

	// Unwrap is the handler within.
	Unwrap() Handler
}

// A Stackful says whether functions run on coroutines, for connections of a Handler or sessions of
// a packet.Handler. Those of Sequential and packet.SessionTasks do. On io_uring such a function
// stays on one worker. So a server.Server asks its Handler, and the handlers within it that Unwrap
// returns: the first that is a Stackful answers. If that is true, and no backend was chosen, the
// server runs on epoll on Linux. A Handler whose connections become sequential later, by
// SetHandler, is one for this.
type Stackful interface {
	// Stackful is called before the server starts.
	Stackful() bool
}

// isStackful asks a handler.
func isStackful(h Handler) bool {
	s, ok := As[Stackful](h)
	return ok && s.Stackful()
}

// As is the first of h and the handlers within it, found through Unwrap, that is a T.
func As[T any](h Handler) (t T, ok bool) {
	for h != nil {
		if t, ok = h.(T); ok {
			return t, true
		}
		w, wraps := h.(Wrapper)
		if !wraps {
			break
		}
		h = w.Unwrap()
	}
	return t, false
}

// An abandonee is a handler for which others wait. Its method may be called by several goroutines
// at once, but by none while a worker runs.
type abandonee interface{ Abandoned(err error) }

// abandonUsers tells a handler of the user, or one within, that the wait has ended.
func abandonUsers(h Handler, err error) {
	if a, ok := As[abandonee](h); ok {
		a.Abandoned(err)
	}
}
