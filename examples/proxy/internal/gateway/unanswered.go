package gateway

import "github.com/suiro-go/suiro/examples/http/h1"

// An unanswered is why an upstream has given no answer, not even the beginning of one. It
// counts against the upstream, and another one may be asked: if nothing of the request was
// sent, or if it can be repeated.
type unanswered struct {
	status int // the client's answer if no other upstream gives one
	reason string
	asked  bool  // some of the request may have been understood
	cause  error // nil: reason says it
}

func (e *unanswered) Error() string {
	if e.cause != nil {
		return e.cause.Error()
	}
	return e.reason
}

func (e *unanswered) Unwrap() error { return e.cause }

var (
	errGone error = &unanswered{
		status: 502, reason: "the upstream has ended without an answer", asked: true,
	}
	errUnasked error = &unanswered{
		status: 502, reason: "the upstream has ended before a byte of the request was sent",
	}
	errSilent error = &unanswered{
		status: 504, reason: "the upstream does not answer in time", asked: true,
	}
)

// unreachable is that no connection could be established.
func unreachable(err error) error {
	if timedOut(err) {
		return &unanswered{status: 504, reason: "no connection to an upstream in time", cause: err}
	}
	return &unanswered{status: 502, reason: "no upstream answers", cause: err}
}

// stale reports whether a connection that has waited in the pool has ended, perhaps before the
// request arrived. That says nothing about the upstream, as in net/http's Transport. An upstream
// that is silent, or has begun an answer, has failed.
func stale(l *lease, err error) bool { return l.reused && (err == errGone || err == errUnasked) }

// idled reports whether an answer says that the connection was idle for too long. Some servers send
// it before they close a connection without a request.
func (x *exchange) idled(l *lease, r *h1.Reply) bool {
	return r.Status == 408 && !r.KeepAlive && l.reused && x.repeatable()
}

// repeatable reports whether to ask twice is as good as once (RFC 9110, 9.2.2), and possible.
func (x *exchange) repeatable() bool {
	switch x.method {
	case "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE":
		return !x.body
	}
	return false
}
