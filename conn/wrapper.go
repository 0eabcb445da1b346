package conn

// A Wrapper is a Handler around another one: it adds something to what that does, and passes
// the calls on, which embedding the Handler does. What a handler needs beyond its methods is
// found through Unwrap, as http.ResponseController finds what a http.ResponseWriter can do.
//
// Sequential and Conn.Lend put a handler of their own in the place of the Wrapper, which sees
// OnOpen, OnDrain and OnClose then, and no bytes. SetHandler and HandOver end a Wrapper's part.
// A Wrapper belongs within ServeTLS, ConnectTLS and the PROXY protocol, not around them.
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
