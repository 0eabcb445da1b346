package otel_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	spanpb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/suiro-go/suiro/contrib/otel"
	"github.com/suiro-go/suiro/server"
)

// answering is a session that answers what it gets. "fail" is an error, and "close" ends it.
type answering struct{ t *otel.Tracer }

func (answering) OnOpen(*server.Session) error { return nil }

func (h answering) OnPacket(s *server.Session, p server.Packet) error {
	switch string(p.Data) {
	case "fail":
		return errRefused
	case "close":
		s.Close()
		return nil
	}
	parent := trace.SpanFromContext(h.t.SessionContext(context.Background(), s))
	parent.AddEvent("answers")
	_, err := s.Write(p.Data)
	return err
}

func (answering) OnClose(*server.Session, error) {}

func answer(ctx context.Context, p *server.Peer) error {
	b := make([]byte, 100)
	for {
		n, err := p.Recv(ctx, b)
		if err != nil {
			return nil // the session has ended
		}
		switch string(b[:n]) {
		case "fail":
			return errRefused
		case "close":
			return nil
		case "panic":
			panic("on demand")
		}
		trace.SpanFromContext(ctx).AddEvent("answers")
		if err := p.Send(b[:n]); err != nil {
			return err
		}
	}
}

func dialUDP(t *testing.T, addr string) *net.UDPConn {
	t.Helper()
	c, err := net.Dial("udp", addr)
	require.NoError(t, err)
	require.NoError(t, c.SetDeadline(time.Now().Add(30*time.Second)))
	t.Cleanup(func() { _ = c.Close() })
	return c.(*net.UDPConn)
}

// ask sends a datagram and waits for the answer, which is the same.
func ask(t *testing.T, c net.Conn, text string) {
	t.Helper()
	_, err := c.Write([]byte(text))
	require.NoError(t, err)
	b := make([]byte, 100)
	n, err := c.Read(b)
	require.NoError(t, err)
	require.Equal(t, text, string(b[:n]))
}

func TestASpanForEachSession(t *testing.T) {
	provider, spans := traces(t, receive(t))
	tracer := otel.NewTracer(provider)
	sessions := &server.Sessions{Handler: tracer.Sessions(answering{tracer})}
	addr, stop := run(t, &server.Server{Network: "udp", Packets: sessions})
	c, other := dialUDP(t, addr), dialUDP(t, addr)
	ask(t, c, "hello")
	ask(t, other, "hello")
	ask(t, c, "again")
	require.Empty(t, spans(), "they have not ended")
	for _, end := range []net.Conn{c, other} {
		_, err := end.Write([]byte(map[bool]string{true: "close", false: "fail"}[end == c]))
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { return sessions.Len() == 0 }, 30*time.Second, time.Millisecond)
	stop()
	all := spans()
	require.Len(t, all, 2)
	ports := map[any]*spanpb.Span{}
	for _, s := range all {
		require.Equal(t, "session", s.GetName())
		require.Equal(t, spanpb.Span_SPAN_KIND_SERVER, s.GetKind())
		of := s.GetAttributes()
		require.Equal(t, "otel_test.answering", attribute(of, "suiro.handler"))
		require.Equal(t, "udp", attribute(of, "network.transport"))
		require.Equal(t, "ipv4", attribute(of, "network.type"))
		require.Equal(t, "127.0.0.1", attribute(of, "network.peer.address"))
		require.Equal(t, "127.0.0.1", attribute(of, "server.address"))
		require.Equal(t, c.RemoteAddr().(*net.UDPAddr).Port, attribute(of, "server.port"))
		ports[attribute(of, "network.peer.port")] = s
	}
	first, second := ports[c.LocalAddr().(*net.UDPAddr).Port], ports[other.LocalAddr().(*net.UDPAddr).Port]
	require.Equal(t, spanpb.Status_STATUS_CODE_UNSET, first.GetStatus().GetCode())
	require.Len(t, first.GetEvents(), 2)
	require.Equal(t, spanpb.Status_STATUS_CODE_ERROR, second.GetStatus().GetCode())
	require.Equal(t, "refused", second.GetStatus().GetMessage())
	require.Equal(t, "_OTHER", attribute(second.GetAttributes(), "error.type"))
	require.Len(t, second.GetEvents(), 2)
	require.Equal(t, "exception", second.GetEvents()[1].GetName())
}

func TestATasksSpanIsAChildOfItsSession(t *testing.T) {
	for word, failed := range map[string]bool{"close": false, "fail": true, "panic": true} {
		t.Run(word, func(t *testing.T) {
			provider, spans := traces(t, receive(t))
			h := otel.NewTracer(provider).SessionTasks(answer)
			require.True(t, h.(server.Stackful).Stackful())
			sessions := &server.Sessions{Handler: h}
			addr, stop := run(t, &server.Server{Network: "udp", Packets: sessions})
			c := dialUDP(t, addr)
			ask(t, c, "hello")
			_, err := c.Write([]byte(word))
			require.NoError(t, err)
			require.Eventually(t, func() bool { return sessions.Len() == 0 }, 30*time.Second, time.Millisecond)
			stop()
			all := spans()
			require.Len(t, all, 2)
			outer := named(t, all, "session")
			inner := children(all, outer)
			require.Len(t, inner, 1)
			require.Contains(t, inner[0].GetName(), "otel_test.answer")
			require.Equal(t, inner[0].GetName(), attribute(outer.GetAttributes(), "suiro.handler"))
			require.Equal(t, "answers", inner[0].GetEvents()[0].GetName())
			for _, s := range all {
				require.Equal(t, failed, s.GetStatus().GetCode() == spanpb.Status_STATUS_CODE_ERROR, s.GetName())
				require.Equal(t, failed, attribute(s.GetAttributes(), "error.type") != nil, s.GetName())
			}
		})
	}
}

func TestTheUsualEndsOfASessionAreEvents(t *testing.T) {
	for event, idle := range map[string]time.Duration{"idle": time.Millisecond, "socket closed": time.Hour} {
		t.Run(event, func(t *testing.T) {
			all, provider := inMemory(t)
			tracer := otel.NewTracer(provider)
			sessions := &server.Sessions{Idle: idle, Handler: tracer.Sessions(answering{tracer})}
			addr, stop := run(t, &server.Server{Network: "udp", Packets: sessions})
			ask(t, dialUDP(t, addr), "hello")
			if event == "idle" {
				require.Eventually(t, func() bool { return sessions.Len() == 0 }, 30*time.Second, time.Millisecond)
			}
			stop()
			require.Len(t, all.GetSpans(), 1)
			span := all.GetSpans()[0]
			require.Equal(t, codes.Unset, span.Status.Code)
			require.Nil(t, valueOf(span, "error.type"))
			require.Len(t, span.Events, 2)
			require.Equal(t, event, span.Events[1].Name)
		})
	}
}

// A failing socket ends by an error, which is also that of its sessions.
type failing struct{ *server.Sessions }

var errSocket = errors.New("the socket fails")

func (h failing) OnPackets(c *server.PacketConn, batch []server.Packet) error {
	if string(batch[0].Data) == "fail socket" {
		return errSocket
	}
	return h.Sessions.OnPackets(c, batch)
}

func TestTheErrorOfASocketIsTheOneOfItsSessions(t *testing.T) {
	all, provider := inMemory(t)
	tracer := otel.NewTracer(provider)
	sessions := &server.Sessions{Handler: tracer.Sessions(answering{tracer})}
	addr, _ := run(t, &server.Server{Network: "udp", Packets: failing{sessions}})
	c := dialUDP(t, addr)
	ask(t, c, "hello")
	_, err := c.Write([]byte("fail socket"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(all.GetSpans()) == 1 }, 30*time.Second, time.Millisecond)
	require.Equal(t, codes.Error, all.GetSpans()[0].Status.Code)
	require.Contains(t, all.GetSpans()[0].Status.Description, "the socket fails")
}
