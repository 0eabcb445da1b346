package otel_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	spanpb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/suiro-go/suiro/contrib/otel"
	"github.com/suiro-go/suiro/server"
)

// traces returns a provider that exports to r, and a function that flushes it and returns the spans
// that have arrived.
func traces(t *testing.T, r *receiver, options ...sdk.TracerProviderOption) (*sdk.TracerProvider, func() []*spanpb.Span) {
	t.Helper()
	ctx := context.Background()
	exporter, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpoint(r.addr), otlptracegrpc.WithInsecure())
	require.NoError(t, err)
	provider := sdk.NewTracerProvider(append(options, sdk.WithBatcher(exporter))...)
	t.Cleanup(func() { _ = provider.Shutdown(ctx) })
	return provider, func() []*spanpb.Span {
		flush, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		require.NoError(t, provider.ForceFlush(flush))
		r.mu.Lock()
		defer r.mu.Unlock()
		return slices.Clone(r.spans)
	}
}

func named(t *testing.T, all []*spanpb.Span, name string) *spanpb.Span {
	t.Helper()
	i := slices.IndexFunc(all, func(s *spanpb.Span) bool { return s.GetName() == name })
	require.GreaterOrEqual(t, i, 0, "there is no span %s among %d", name, len(all))
	return all[i]
}

func attribute(all []*commonpb.KeyValue, key string) any {
	for _, a := range all {
		if a.GetKey() == key {
			if n, ok := a.GetValue().GetValue().(*commonpb.AnyValue_IntValue); ok {
				return int(n.IntValue)
			}
			return a.GetValue().GetStringValue()
		}
	}
	return nil
}

func TestASpanForEachConnection(t *testing.T) {
	provider, spans := traces(t, receive(t))
	addr, stop := run(t, &server.Server{Handler: otel.NewTracer(provider).Handler(echo{})})
	c := dial(t, addr)
	say(t, c, "hello")
	require.Empty(t, spans(), "it has not ended")
	end(t, c, "")
	stop()
	all := spans()
	require.Len(t, all, 1)
	span, local, remote := all[0], c.RemoteAddr().(*net.TCPAddr), c.LocalAddr().(*net.TCPAddr)
	require.Equal(t, "connection", span.GetName())
	require.Equal(t, spanpb.Span_SPAN_KIND_SERVER, span.GetKind())
	require.Equal(t, spanpb.Status_STATUS_CODE_UNSET, span.GetStatus().GetCode())
	require.Equal(t, "otel_test.echo", attribute(span.GetAttributes(), "suiro.handler"))
	require.Equal(t, "tcp", attribute(span.GetAttributes(), "network.transport"))
	require.Equal(t, "127.0.0.1", attribute(span.GetAttributes(), "server.address"))
	require.Equal(t, local.Port, attribute(span.GetAttributes(), "server.port"))
	require.Equal(t, "127.0.0.1", attribute(span.GetAttributes(), "network.peer.address"))
	require.Equal(t, remote.Port, attribute(span.GetAttributes(), "network.peer.port"))
	require.Less(t, span.GetStartTimeUnixNano(), span.GetEndTimeUnixNano())
}

func TestAFunctionsSpanIsAChildAndItsContextHasIt(t *testing.T) {
	provider, spans := traces(t, receive(t))
	tracer := otel.NewTracer(provider)
	query := func(ctx context.Context) { // stands for a library with instruments
		_, span := provider.Tracer("db").Start(ctx, "query")
		span.End()
	}
	s := &server.Server{Handler: tracer.Sequential(func(ctx context.Context, s *server.Stream) error {
		query(ctx)
		_, begun := provider.Tracer("db").Start(s.Context(), "of the connection")
		begun.End()
		return serve(ctx, s)
	})}
	s.ConnConfig.ConnContext = tracer.ConnContext
	addr, stop := run(t, s)
	c := dial(t, addr)
	say(t, c, "hello")
	end(t, c, "")
	stop()
	all := spans()
	require.Len(t, all, 4)
	outer, inner := named(t, all, "connection"), all[slices.IndexFunc(all, func(s *spanpb.Span) bool { return strings.Contains(s.GetName(), "otel_test.Test") })]
	require.Empty(t, outer.GetParentSpanId())
	require.Equal(t, outer.GetSpanId(), inner.GetParentSpanId())
	require.Equal(t, outer.GetTraceId(), inner.GetTraceId())
	require.Equal(t, inner.GetName(), attribute(outer.GetAttributes(), "suiro.handler"))
	require.Equal(t, inner.GetSpanId(), named(t, all, "query").GetParentSpanId())
	require.Equal(t, outer.GetSpanId(), named(t, all, "of the connection").GetParentSpanId())
}

func TestErrorsPanicsAndAbortsAreTheSpans(t *testing.T) {
	for _, c := range []struct{ name, line, kind, message string }{
		{"an error", "fail", "_OTHER", "refused"},
		{"a panic", "panic", "panic", "on demand"},
	} {
		t.Run(c.name, func(t *testing.T) {
			provider, spans := traces(t, receive(t))
			addr, stop := run(t, &server.Server{Handler: otel.NewTracer(provider).Sequential(serve)})
			end(t, dial(t, addr), c.line)
			stop()
			all := spans()
			require.Len(t, all, 2)
			for _, span := range all {
				require.Equal(t, spanpb.Status_STATUS_CODE_ERROR, span.GetStatus().GetCode(), span.GetName())
				require.Equal(t, c.kind, attribute(span.GetAttributes(), "error.type"), span.GetName())
				require.Len(t, span.GetEvents(), 1)
				require.Equal(t, "exception", span.GetEvents()[0].GetName())
			}
			require.Contains(t, named(t, all, "connection").GetStatus().GetMessage(), c.message)
		})
	}
	t.Run("an abort", func(t *testing.T) {
		provider, spans := traces(t, receive(t))
		addr, stop := run(t, &server.Server{Handler: otel.NewTracer(provider).Handler(aborting{})})
		c := dial(t, addr)
		_, err := io.WriteString(c, "hello")
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, c)
		require.Error(t, err)
		stop()
		require.Equal(t, "aborted", attribute(named(t, spans(), "connection").GetAttributes(), "error.type"))
	})
	t.Run("a reset", func(t *testing.T) {
		provider, spans := traces(t, receive(t))
		s := &server.Server{Handler: otel.NewTracer(provider).Handler(echo{})}
		addr, stop := run(t, s)
		c := dial(t, addr)
		say(t, c, "hello")
		require.NoError(t, c.(*net.TCPConn).SetLinger(0))
		require.NoError(t, c.Close())
		over := func() bool { return s.Group().Len() == 0 } // else stop may end it before the reset does
		require.Eventually(t, over, 30*time.Second, time.Millisecond)
		stop()
		all := spans()
		require.Len(t, all, 1)
		require.Equal(t, "reset", attribute(all[0].GetAttributes(), "error.type"))
	})
}

// An aborting resets its connection at the first byte.
type aborting struct{ server.Base }

func (aborting) OnData(c *server.Conn) error {
	c.Abort()
	return nil
}

// A changing is replaced by another handler at the first byte.
type changing struct{ server.Base }

func (changing) OnData(c *server.Conn) error { return c.SetHandler(echo{}) }

func TestASpanEndsWithTheConnectionThoughTheHandlerHasChanged(t *testing.T) {
	provider, spans := traces(t, receive(t))
	addr, stop := run(t, &server.Server{Handler: otel.NewTracer(provider).Handler(changing{})})
	c := dial(t, addr)
	say(t, c, "hello")
	end(t, c, "")
	stop()
	all := spans()
	require.Len(t, all, 1)
	require.Equal(t, "otel_test.changing", attribute(all[0].GetAttributes(), "suiro.handler"))
}

func TestADrainIsAnEvent(t *testing.T) {
	for name, of := range map[string]func(*otel.Tracer) server.Handler{
		"callbacks":  func(t *otel.Tracer) server.Handler { return t.Handler(echo{}) },
		"sequential": func(t *otel.Tracer) server.Handler { return t.Sequential(serve) },
	} {
		t.Run(name, func(t *testing.T) {
			provider, spans := traces(t, receive(t))
			addr, stop := run(t, &server.Server{Handler: of(otel.NewTracer(provider))})
			c := dial(t, addr)
			say(t, c, "hello")
			done := make(chan struct{})
			go func() { defer close(done); stop() }()
			_, err := io.Copy(io.Discard, c)
			require.NoError(t, err)
			_ = c.Close()
			<-done
			span := named(t, spans(), "connection")
			require.Len(t, span.GetEvents(), 1)
			require.Equal(t, "drain", span.GetEvents()[0].GetName())
		})
	}
}

func TestSpansThatAreNotSampledStillHaveContexts(t *testing.T) {
	provider, spans := traces(t, receive(t), sdk.WithSampler(sdk.NeverSample()))
	tracer, valid := otel.NewTracer(provider), make(chan trace.SpanContext, 1)
	addr, stop := run(t, &server.Server{Handler: tracer.Sequential(func(ctx context.Context, s *server.Stream) error {
		valid <- trace.SpanContextFromContext(ctx)
		return serve(ctx, s)
	})})
	c := dial(t, addr)
	say(t, c, "hello")
	end(t, c, "")
	stop()
	of := <-valid
	require.True(t, of.IsValid())
	require.False(t, of.IsSampled())
	require.Empty(t, spans())
}

func TestTheServerFindsWhatTheHandlerNeeds(t *testing.T) {
	tracer := otel.NewTracer(sdk.NewTracerProvider())
	of, ok := server.As[server.Stackful](tracer.Sequential(serve))
	require.True(t, ok)
	require.True(t, of.Stackful())
	_, ok = server.As[echo](tracer.Handler(echo{}))
	require.True(t, ok)
}

func ExampleTracer() {
	provider := sdk.NewTracerProvider() // with an exporter
	tracer := otel.NewTracer(provider)
	s := &server.Server{Addr: "127.0.0.1:0", Handler: tracer.Sequential(serve)}
	s.ConnConfig.ConnContext = tracer.ConnContext
	s.Listening = func(net.Addr) { _ = s.Close() }
	fmt.Println(s.ListenAndServe())
	// Output: server: closed by Shutdown or Close
}
