package otel

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/suiro-go/suiro/server"
)

// A Tracer makes spans. Its methods may be called from any goroutine, and one Tracer serves any
// number of servers. The zero value cannot be used.
type Tracer struct {
	tracer trace.Tracer

	open     sync.Map // server.Handle to trace.Span, of connections that have not ended
	sessions sync.Map // *server.Session to trace.Span, of sessions that have not ended
}

// NewTracer returns a Tracer whose spans are those of the provider.
func NewTracer(provider trace.TracerProvider) *Tracer {
	return &Tracer{tracer: provider.Tracer(scope)}
}

// Handler returns a Wrapper of h that makes a span for each connection: from its beginning, which
// is when it was accepted or its dial began, to its end, also after SetHandler and PassTo. The
// span is called "connection", of the kind server, or client if it was dialed. Its attributes are
// the handler's name (suiro.handler), network.transport, network.type, and the addresses as
// network.peer.address, network.peer.port, server.address and server.port. A connection that ends
// by an error has the status Error, an exception event, and an error.type of
// suiro.connection.duration, where any net.ErrClosed is "aborted". A drain is an event, unless the
// handler was replaced.
//
// With TLS, give the Server the wrapped handler. The handshake is then a child, "TLS server
// handshake" or "TLS client handshake", of the kind internal. It has tls.established,
// tls.protocol.name, tls.protocol.version, tls.cipher, tls.curve, tls.next_protocol and
// tls.resumed, and the name that the client asked for as server.address. A handshake that has
// failed has the status Error, and an error.type of suiro.tls_handshake.duration. It has the
// attributes that were agreed on by then.
//
// A connection costs some allocations more, and its reads and writes cost nothing.
func (t *Tracer) Handler(h server.Handler) server.Handler { return &traced{h, t} }

// ConnContext is for Config.ConnContext: the contexts of connections (Conn.Context, Stream.Context,
// and Context of a function's sched.Context) have the span. Calls of instrumented libraries with
// such a context become children of that span.
func (t *Tracer) ConnContext(ctx context.Context, h server.Handle) context.Context {
	if span, ok := t.open.Load(h); ok {
		return trace.ContextWithSpan(ctx, span.(trace.Span))
	}
	return ctx
}

// traced is the Wrapper of Tracer.Handler.
type traced struct {
	server.Handler
	t *Tracer
}

var _ server.Wrapper = (*traced)(nil)

// Unwrap implements server.Wrapper.
func (h *traced) Unwrap() server.Handler { return h.Handler }

// HandlerName is the name of the handler within, for the log.
func (h *traced) HandlerName() string { return nameOf(h.Handler) }

func nameOf(h any) string {
	if named, ok := h.(interface{ HandlerName() string }); ok {
		return named.HandlerName()
	}
	return fmt.Sprintf("%T", h)
}

// begin makes the span of a connection, and of its handshake, which has ended. err is why a
// handshake has failed.
func (h *traced) begin(c *server.Conn, err error) trace.Span {
	l := c.Life()
	began, kind := l.Began, trace.SpanKindServer
	if _, again := h.t.open.Load(c.Handle()); again { // PassTo: the handshake is another span's
		began, l.Handshake = time.Now(), time.Time{}
	}
	if l.Dialed {
		kind = trace.SpanKindClient
	}
	attributes := append(addressesOf(c, l.Dialed), attribute.String("suiro.handler", h.HandlerName()))
	ctx, span := h.t.tracer.Start(context.Background(), "connection", trace.WithTimestamp(began), trace.WithSpanKind(kind), trace.WithAttributes(attributes...))
	if !l.Handshake.IsZero() {
		name := "TLS server handshake"
		if l.Dialed {
			name = "TLS client handshake"
		}
		_, shaking := h.t.tracer.Start(ctx, name, trace.WithTimestamp(l.Handshake), trace.WithAttributes(tlsOf(l.TLS)...))
		if l.Failure != "" {
			fail(shaking, err, l.Failure)
		}
		shaking.End()
	}
	return span
}

func (h *traced) OnOpen(c *server.Conn) error {
	span, handle := h.begin(c, nil), c.Handle()
	h.t.open.Store(handle, span)
	c.NotifyClose(func() {
		h.t.open.Delete(handle)
		end(span, c.Life().Err)
	})
	return h.Handler.OnOpen(c)
}

func (h *traced) OnDrain(c *server.Conn) {
	if span, ok := h.t.open.Load(c.Handle()); ok {
		span.(trace.Span).AddEvent("drain")
	}
	h.Handler.OnDrain(c)
}

func (h *traced) OnClose(c *server.Conn, err error) {
	if _, opened := h.t.open.Load(c.Handle()); !opened {
		end(h.begin(c, err), err)
	}
	h.Handler.OnClose(c, err)
}

// end ends the span of a connection or a function. err is nil or why that has failed.
func end(span trace.Span, err error) {
	if err != nil {
		fail(span, err, errorType(err))
	}
	span.End()
}

func fail(span trace.Span, err error, kind string) {
	span.RecordError(err)
	span.SetStatus(codes.Error, err.Error())
	span.SetAttributes(attribute.String("error.type", kind))
}
