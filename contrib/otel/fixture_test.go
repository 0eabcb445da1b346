package otel_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	metricpb "go.opentelemetry.io/proto/otlp/metrics/v1"
	spanpb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"

	"github.com/suiro-go/suiro/server"
)

// A receiver is an OTLP server, as collectors have it.
type receiver struct {
	metricspb.UnimplementedMetricsServiceServer
	addr string

	mu      sync.Mutex
	metrics []*metricpb.ScopeMetrics
	spans   []*spanpb.Span
}

// receive starts a receiver of OTLP over gRPC.
func receive(t *testing.T) *receiver {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r, s := &receiver{addr: ln.Addr().String()}, grpc.NewServer()
	metricspb.RegisterMetricsServiceServer(s, r)
	tracepb.RegisterTraceServiceServer(s, tracing{r: r})
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		s.Stop()
		require.NoError(t, <-served)
	})
	return r
}

func (r *receiver) Export(_ context.Context, in *metricspb.ExportMetricsServiceRequest) (*metricspb.ExportMetricsServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range in.GetResourceMetrics() {
		r.metrics = append(r.metrics, of.GetScopeMetrics()...)
	}
	return &metricspb.ExportMetricsServiceResponse{}, nil
}

// tracing is the receiver's other service, whose method has the same name.
type tracing struct {
	tracepb.UnimplementedTraceServiceServer
	r *receiver
}

func (t tracing) Export(_ context.Context, in *tracepb.ExportTraceServiceRequest) (*tracepb.ExportTraceServiceResponse, error) {
	r := t.r
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range in.GetResourceSpans() {
		for _, scope := range of.GetScopeSpans() {
			r.spans = append(r.spans, scope.GetSpans()...)
		}
	}
	return &tracepb.ExportTraceServiceResponse{}, nil
}

var errRefused = errors.New("refused")

type echo struct{ server.Base }

func (echo) OnData(c *server.Conn) error {
	_, err := c.WriteTo(c)
	return err
}

// serve answers lines. "fail" is an error and "panic" a panic.
func serve(_ context.Context, s *server.Stream) error {
	lines := bufio.NewScanner(s)
	for lines.Scan() {
		switch lines.Text() {
		case "fail":
			return errRefused
		case "panic":
			panic("on demand")
		}
		if _, err := io.WriteString(s, lines.Text()+"\n"); err != nil {
			return err
		}
	}
	return lines.Err()
}

// run serves until the end of the test, or until stop is called.
func run(t *testing.T, s *server.Server) (addr string, stop func()) {
	t.Helper()
	at := make(chan net.Addr, 1)
	s.Addr, s.Workers, s.Listening = "127.0.0.1:0", 2, func(a net.Addr) { at <- a }
	served := make(chan error, 1)
	go func() { served <- s.ListenAndServe() }()
	stop = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		require.NoError(t, s.Shutdown(ctx))
		require.ErrorIs(t, <-served, server.ErrServerClosed)
	})
	t.Cleanup(stop)
	return (<-at).String(), stop
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// say sends a line and reads the answer, which is the same.
func say(t *testing.T, c net.Conn, line string) {
	t.Helper()
	_, err := io.WriteString(c, line+"\n")
	require.NoError(t, err)
	answer := make([]byte, len(line)+1)
	_, err = io.ReadFull(c, answer)
	require.NoError(t, err)
	require.Equal(t, line+"\n", string(answer))
}

// end sends a line and reads up to the end, in whatever way it comes.
func end(t *testing.T, c net.Conn, line string) {
	t.Helper()
	if line != "" {
		_, err := io.WriteString(c, line+"\n")
		require.NoError(t, err)
	}
	_ = c.(*net.TCPConn).CloseWrite() // fails if the peer has reset it
	_, _ = io.Copy(io.Discard, c)
}
