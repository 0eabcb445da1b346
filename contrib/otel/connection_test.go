package otel_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	otelattribute "go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	spanpb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/suiro-go/suiro/contrib/otel"
	"github.com/suiro-go/suiro/server"
)

// inMemory returns a provider whose ended spans are in the exporter at once.
func inMemory(t *testing.T) (*tracetest.InMemoryExporter, *sdk.TracerProvider) {
	t.Helper()
	all := tracetest.NewInMemoryExporter()
	provider := sdk.NewTracerProvider(sdk.WithSyncer(all))
	t.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
	return all, provider
}

func valueOf(s tracetest.SpanStub, key string) any {
	set := otelattribute.NewSet(s.Attributes...)
	v, _ := set.Value(otelattribute.Key(key))
	return v.AsInterface()
}

// A refusing fails at the first byte.
type refusing struct{ server.Base }

func (refusing) OnData(*server.Conn) error { return errRefused }

// A replaced gets another handler at the first byte.
type replaced struct {
	server.Base
	by func(*server.Conn) error
}

func (h replaced) OnData(c *server.Conn) error { return h.by(c) }

func TestASpanHasTheErrorOfTheHandlerThatHasReplacedItsOwn(t *testing.T) {
	for name, by := range map[string]func(*server.Conn) error{
		"SetHandler": func(c *server.Conn) error { return c.SetHandler(refusing{}) },
		"PassTo":     func(c *server.Conn) error { return c.PassTo(refusing{}) },
	} {
		t.Run(name, func(t *testing.T) {
			all, provider := inMemory(t)
			addr, stop := run(t, &server.Server{Handler: otel.NewTracer(provider).Handler(replaced{by: by})})
			end(t, dial(t, addr), "hello")
			stop()
			spans := all.GetSpans()
			require.Len(t, spans, 1)
			require.Equal(t, sdk.Status{Code: codes.Error, Description: "refused"}, spans[0].Status)
			require.Equal(t, "_OTHER", valueOf(spans[0], "error.type"))
			require.Len(t, spans[0].Events, 1)
			require.Equal(t, "exception", spans[0].Events[0].Name)
		})
	}
}

func TestAConnectionPassedToATracedHandlerIsASecondSpanWithoutAHandshake(t *testing.T) {
	secret := newSecret(t)
	all, provider := inMemory(t)
	tracer := otel.NewTracer(provider)
	next := tracer.Handler(echo{})
	addr, stop := run(t, &server.Server{TLS: secret.server, Handler: tracer.Handler(replaced{by: func(c *server.Conn) error { return c.PassTo(next) }})})
	c := tls.Client(dial(t, addr), secret.client)
	say(t, c, "hello")
	require.NoError(t, c.CloseWrite())
	_, err := io.Copy(io.Discard, c)
	require.NoError(t, err)
	stop()
	names := map[string]int{}
	for _, s := range all.GetSpans() {
		names[s.Name]++
		require.Equal(t, codes.Unset, s.Status.Code)
	}
	require.Equal(t, map[string]int{"connection": 2, "TLS server handshake": 1}, names)
}

// A secret is a certificate, and a client that trusts it.
type secret struct{ server, client *tls.Config }

func newSecret(t *testing.T) secret {
	t.Helper()
	s := httptest.NewTLSServer(nil) // its certificate is for example.com, among others
	defer s.Close()
	of := s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	of.ServerName, of.NextProtos = "example.com", []string{"echo"}
	return secret{&tls.Config{Certificates: s.TLS.Certificates, NextProtos: []string{"echo"}}, of}
}

func children(all []*spanpb.Span, of *spanpb.Span) (some []*spanpb.Span) {
	for _, s := range all {
		if string(s.GetParentSpanId()) == string(of.GetSpanId()) {
			some = append(some, s)
		}
	}
	return some
}

func boolean(all []*commonpb.KeyValue, key string) (value, ok bool) {
	for _, a := range all {
		if a.GetKey() == key {
			b, ok := a.GetValue().GetValue().(*commonpb.AnyValue_BoolValue)
			return ok && b.BoolValue, ok
		}
	}
	return false, false
}

func TestAHandshakeIsAChildOfItsConnection(t *testing.T) {
	secret := newSecret(t)
	provider, spans := traces(t, receive(t))
	addr, stop := run(t, &server.Server{TLS: secret.server, Handler: otel.NewTracer(provider).Handler(echo{})})
	c := tls.Client(dial(t, addr), secret.client)
	say(t, c, "hello")
	require.NoError(t, c.CloseWrite())
	_, err := io.Copy(io.Discard, c)
	require.NoError(t, err)
	stop()
	all := spans()
	require.Len(t, all, 2)
	outer, inner := named(t, all, "connection"), named(t, all, "TLS server handshake")
	require.Equal(t, outer.GetSpanId(), inner.GetParentSpanId())
	require.Equal(t, spanpb.Span_SPAN_KIND_INTERNAL, inner.GetKind())
	require.LessOrEqual(t, outer.GetStartTimeUnixNano(), inner.GetStartTimeUnixNano())
	require.Less(t, inner.GetStartTimeUnixNano(), inner.GetEndTimeUnixNano())
	require.LessOrEqual(t, inner.GetEndTimeUnixNano(), outer.GetEndTimeUnixNano())
	state, of := c.ConnectionState(), inner.GetAttributes()
	require.Equal(t, "tls", attribute(of, "tls.protocol.name"))
	require.Equal(t, "1.3", attribute(of, "tls.protocol.version"))
	require.Equal(t, tls.CipherSuiteName(state.CipherSuite), attribute(of, "tls.cipher"))
	require.Equal(t, state.CurveID.String(), attribute(of, "tls.curve"))
	require.Equal(t, "echo", attribute(of, "tls.next_protocol"))
	require.Equal(t, "example.com", attribute(of, "server.address"))
	established, _ := boolean(of, "tls.established")
	require.True(t, established)
	resumed, known := boolean(of, "tls.resumed")
	require.True(t, known)
	require.False(t, resumed)
	require.Equal(t, "ipv4", attribute(outer.GetAttributes(), "network.type"))
}

func TestHandshakesThatFailHaveSpans(t *testing.T) {
	secret := newSecret(t)
	for _, c := range []struct {
		name string
		peer func(t *testing.T, c net.Conn)
		kind string // of the handshake
		sni  any
	}{
		{"not TLS", func(t *testing.T, c net.Conn) { end(t, c, "GET / HTTP/1.1") }, "not_tls", nil},
		{"the client does not trust the certificate", func(t *testing.T, c net.Conn) {
			distrusting := secret.client.Clone()
			distrusting.RootCAs = nil
			distrusting.ServerName = "sub.example.com"
			require.Error(t, tls.Client(c, distrusting).Handshake())
		}, "alert", "sub.example.com"},
		{"no protocol in common", func(t *testing.T, c net.Conn) {
			other := secret.client.Clone()
			other.NextProtos = []string{"telnet"}
			require.Error(t, tls.Client(c, other).Handshake())
		}, "_OTHER", nil},
		{"the client leaves", func(t *testing.T, c net.Conn) { end(t, c, "") }, "peer_closed", nil},
	} {
		for _, sequential := range []bool{false, true} {
			t.Run(c.name, func(t *testing.T) {
				provider, spans := traces(t, receive(t))
				tracer := otel.NewTracer(provider)
				s := &server.Server{TLS: secret.server, Handler: tracer.Handler(echo{})}
				if sequential {
					s.Handler = tracer.Sequential(serve)
				}
				addr, stop := run(t, s)
				peer := dial(t, addr)
				c.peer(t, peer)
				_, _ = io.Copy(io.Discard, peer) // until the server ends it: a reset could overtake an alert
				require.NoError(t, peer.Close())
				over := func() bool { return s.Group().Len() == 0 } // else stop may end it before
				require.Eventually(t, over, 30*time.Second, time.Millisecond)
				stop()
				all := spans()
				require.Len(t, all, 2)
				outer := named(t, all, "connection")
				inner := children(all, outer)
				require.Len(t, inner, 1)
				require.Equal(t, "TLS server handshake", inner[0].GetName())
				for _, span := range all {
					require.Equal(t, spanpb.Status_STATUS_CODE_ERROR, span.GetStatus().GetCode())
					require.NotEmpty(t, span.GetStatus().GetMessage())
					require.Len(t, span.GetEvents(), 1)
					require.Equal(t, "exception", span.GetEvents()[0].GetName())
				}
				require.Equal(t, c.kind, attribute(inner[0].GetAttributes(), "error.type"))
				require.Equal(t, c.sni, attribute(inner[0].GetAttributes(), "server.address"))
				established, known := boolean(inner[0].GetAttributes(), "tls.established")
				require.True(t, known)
				require.False(t, established)
				require.Equal(t, peer.LocalAddr().(*net.TCPAddr).Port, attribute(outer.GetAttributes(), "network.peer.port"))
			})
		}
	}
}

func TestDialedConnectionsAreClients(t *testing.T) {
	secret := newSecret(t)
	all, provider := inMemory(t)
	tracer := otel.NewTracer(provider)
	s := &server.Server{TLS: secret.server, Handler: echo{}}
	addr, stop := run(t, s)
	ended := make(chan error, 1)
	dialer := &server.Dialer{Group: s.Group, TLS: secret.client}
	h := tracer.Handler(greeting{ended: ended})
	_, err := dialer.DialHandler(t.Context(), "tcp", addr, h)
	require.NoError(t, err)
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(30 * time.Second):
		require.Fail(t, "the connection has not ended")
	}
	require.Eventually(t, func() bool { return len(all.GetSpans()) == 2 }, 30*time.Second, time.Millisecond)
	spans := all.GetSpans()
	require.Equal(t, "TLS client handshake", spans[0].Name)
	require.Equal(t, spans[1].SpanContext.SpanID(), spans[0].Parent.SpanID())
	require.Equal(t, trace.SpanKindClient, spans[1].SpanKind)
	require.Equal(t, portOf(t, addr), valueOf(spans[1], "server.port"))
	require.Equal(t, codes.Unset, spans[1].Status.Code)
	stop()
}

// A greeting says a line and closes at the answer.
type greeting struct {
	server.Base
	ended chan error
}

func (greeting) OnOpen(c *server.Conn) error {
	_, err := c.Write([]byte("hello\n"))
	return err
}

func (greeting) OnData(c *server.Conn) error { return c.Close() }

func (h greeting) OnClose(_ *server.Conn, err error) { h.ended <- err }

func portOf(t *testing.T, addr string) int64 {
	t.Helper()
	at, err := netip.ParseAddrPort(addr)
	require.NoError(t, err)
	return int64(at.Port())
}
