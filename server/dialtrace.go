package server

import (
	"context"
	"net"
	"net/http/httptrace"
)

// tracedAttempts tells the trace in ctx of attempts to connect, as net.Dialer does; nil: there
// is none that wants to know.
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

// withoutConnects is a context for resolving: to its trace the resolver's own connections are
// no attempts to connect. net.Dialer does the same.
func withoutConnects(ctx context.Context) context.Context {
	t := httptrace.ContextClientTrace(ctx)
	if t == nil {
		return ctx
	}
	// Without a hook for package net the trace in ctx would not be hidden from that.
	dns := &httptrace.ClientTrace{DNSStart: t.DNSStart, DNSDone: func(i httptrace.DNSDoneInfo) {
		if t.DNSDone != nil {
			t.DNSDone(i)
		}
	}}
	return resolveContext{ctx, httptrace.WithClientTrace(context.Background(), dns)}
}

// A resolveContext is a context with another one's trace. httptrace.WithClientTrace on it would keep
// the hooks of its own.
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
