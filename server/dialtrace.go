package server

import (
	"context"
	"net"
	"net/http/httptrace"
)

// tracedAttempts returns a function that reports attempts to connect to the trace in ctx, as
// net.Dialer does. It returns nil if there is no trace with such a hook.
func tracedAttempts(ctx context.Context, network string) func(net.Addr) func(error) {
	t := httptrace.ContextClientTrace(ctx)
	if t == nil || t.ConnectStart == nil && t.ConnectDone == nil {
		return nil
	}
	return func(addr net.Addr) func(error) {
		if t.ConnectStart != nil {
			t.ConnectStart(network, addr.String())
		}
		if t.ConnectDone == nil {
			return nil
		}
		return func(err error) { t.ConnectDone(network, addr.String(), err) }
	}
}

// withoutConnects returns a context for name resolution. It hides the connections of the resolver
// itself from the trace in ctx, as net.Dialer does.
func withoutConnects(ctx context.Context) context.Context {
	t := httptrace.ContextClientTrace(ctx)
	if t == nil {
		return ctx
	}
	// Without a hook for package net it would still see the trace in ctx.
	dns := &httptrace.ClientTrace{DNSStart: t.DNSStart, DNSDone: func(i httptrace.DNSDoneInfo) {
		if t.DNSDone != nil {
			t.DNSDone(i)
		}
	}}
	return resolveContext{ctx, httptrace.WithClientTrace(context.Background(), dns)}
}

// A resolveContext is a context with another context's trace. httptrace.WithClientTrace would keep
// the hooks of the first one.
type resolveContext struct {
	context.Context
	trace context.Context
}

// Value implements context.Context.
func (r resolveContext) Value(key any) any {
	if v := r.trace.Value(key); v != nil {
		return v
	}
	return r.Context.Value(key)
}
