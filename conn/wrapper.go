package conn

// A Wrapper is a Handler around another one. It adds something, and passes the calls on, as
// embedding the Handler does. Unwrap is the way to the other features of the Handler within, as
// http.ResponseController finds those of an http.ResponseWriter.
//
// Sequential and Conn.Lend replace the Wrapper by a handler of their own. It then sees OnOpen,
// OnDrain and OnClose, and no bytes. SetHandler and HandOver end a Wrapper's part. A Wrapper
// belongs within ServeTLS, ConnectTLS and the PROXY protocol, not around them.
type Wrapper interface {
	Handler

	// Unwrap is the handler within.
	Unwrap() Handler
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
