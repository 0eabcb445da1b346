package otel

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"reflect"
	"runtime"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// Sessions returns a SessionHandler around h that makes a span for each session of datagrams, from
// its OnOpen to its OnClose. The span is called "session", of the kind server. It has the
// attributes of a connection's span, without server.address if the socket is bound to all
// addresses. A session that ends by an error has the status Error, an exception event and an
// error.type, as a connection. It is no error that the session was idle for Sessions.Idle, or that
// the socket was closed. The span then has an event: "idle" or "socket closed".
func (t *Tracer) Sessions(h server.SessionHandler) server.SessionHandler {
	return &tracedSessions{h, nameOf(h), t}
}

// SessionTasks is server.SessionTasks within Sessions, with a second span for the call of serve, a
// child of the session's. Its name is that of serve, its kind is internal, and its error is the one
// that serve returns. serve's context is derived from that of its task, and has that span. A panic
// is an error of that span and ends the session.
func (t *Tracer) SessionTasks(serve func(ctx context.Context, p *server.Peer) error) server.SessionHandler {
	name := runtime.FuncForPC(reflect.ValueOf(serve).Pointer()).Name()
	return &tracedSessions{server.SessionTasks(func(cx *sched.Context, p *server.Peer) error {
		ctx, span := t.tracer.Start(t.SessionContext(cx, p.Session()), name, trace.WithAttributes(attribute.String("code.function.name", name)))
		err := errUnwound
		defer func() { end(span, err) }()
		err = serve(ctx, p)
		return err
	}), name, t}
}

// SessionContext returns ctx with the span of a session of Sessions, until the OnClose of that.
// Calls of instrumented libraries with such a context become children of the span.
func (t *Tracer) SessionContext(ctx context.Context, s *server.Session) context.Context {
	if span, ok := t.sessions.Load(s); ok {
		return trace.ContextWithSpan(ctx, span.(trace.Span))
	}
	return ctx
}

type tracedSessions struct {
	server.SessionHandler
	name string
	t    *Tracer
}

// Stackful implements server.Stackful.
func (h *tracedSessions) Stackful() bool {
	of, ok := h.SessionHandler.(interface{ Stackful() bool })
	return ok && of.Stackful()
}

// HandlerName is the name of the handler within, for the log.
func (h *tracedSessions) HandlerName() string { return h.name }

func (h *tracedSessions) OnOpen(s *server.Session) error {
	attributes := append(peerOf(s.Conn().LocalAddr(), s.Peer()), attribute.String("suiro.handler", h.name))
	_, span := h.t.tracer.Start(context.Background(), "session", trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attributes...))
	h.t.sessions.Store(s, span)
	return h.SessionHandler.OnOpen(s)
}

func (h *tracedSessions) OnClose(s *server.Session, err error) {
	if of, ok := h.t.sessions.LoadAndDelete(s); ok {
		span, op := of.(trace.Span), new(net.OpError)
		as := errors.As(err, &op)
		both, ended := op.Err.(interface{ Unwrap() []error }) // the end of the socket, and the error that has ended it
		switch {
		case as && op.Op == "idle" && op.Timeout():
			span.AddEvent("idle")
			span.End()
		case as && op.Op == "close" && ended:
			end(span, errors.Join(both.Unwrap()[1:]...))
		case as && op.Op == "close" && errors.Is(op, net.ErrClosed):
			span.AddEvent("socket closed")
			span.End()
		default:
			end(span, err)
		}
	}
	h.SessionHandler.OnClose(s, err)
}

// peerOf are the attributes of both ends of a session.
func peerOf(local, peer netip.AddrPort) []attribute.KeyValue {
	all := []attribute.KeyValue{
		attribute.String("network.transport", "udp"), networkType(peer.Addr()),
		attribute.String("network.peer.address", peer.Addr().Unmap().String()), attribute.Int("network.peer.port", int(peer.Port())),
		attribute.Int("server.port", int(local.Port())),
	}
	if !local.Addr().IsUnspecified() {
		all = append(all, attribute.String("server.address", local.Addr().Unmap().String()))
	}
	return all
}
