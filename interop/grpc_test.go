package interop

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/interop"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"

	"github.com/suiro-go/suiro/internal/conntest"
)

// The cases of gRPC's interop client. One that fails logs why and exits.
var grpcCases = []struct {
	name string
	do   func(context.Context, testgrpc.TestServiceClient, ...grpc.CallOption)
}{
	{"empty_unary", interop.DoEmptyUnaryCall},
	{"large_unary", interop.DoLargeUnaryCall},
	{"client_streaming", interop.DoClientStreaming},
	{"server_streaming", interop.DoServerStreaming},
	{"ping_pong", interop.DoPingPong},
	{"empty_stream", interop.DoEmptyStream},
	{"timeout_on_sleeping_server", interop.DoTimeoutOnSleepingServer},
	{"cancel_after_begin", interop.DoCancelAfterBegin},
	{"cancel_after_first_response", interop.DoCancelAfterFirstResponse},
	{"custom_metadata", interop.DoCustomMetadata},
	{"status_code_and_message", interop.DoStatusCodeAndMessage},
	{"special_status_message", interop.DoSpecialStatusMessage},
}

// A gRPC server on our listener passes what gRPC's own interop client asks of one.
func TestGRPCsInteropClientIsSatisfied(t *testing.T) {
	onSides(t, []string{"h2"}, func(t *testing.T, s side) {
		ln := s.listen(t)
		gs := grpc.NewServer()
		testgrpc.RegisterTestServiceServer(gs, interop.NewTestServer())
		served := make(chan error, 1)
		go func() { served <- gs.Serve(ln) }()
		defer func() {
			gs.GracefulStop()
			require.NoError(t, conntest.Receive(t, served))
		}()
		creds := insecure.NewCredentials()
		if s.client != nil {
			creds = credentials.NewTLS(s.client)
		}
		cc, err := grpc.NewClient(ln.Addr().String(), grpc.WithTransportCredentials(creds))
		require.NoError(t, err)
		defer cc.Close()
		client := testgrpc.NewTestServiceClient(cc)
		ctx, cancel := context.WithTimeout(t.Context(), conntest.Patience)
		defer cancel()
		for _, c := range grpcCases {
			t.Run(c.name, func(*testing.T) { c.do(ctx, client, grpc.WaitForReady(true)) })
		}
		t.Run("unimplemented_method", func(*testing.T) { interop.DoUnimplementedMethod(ctx, cc) })
		t.Run("unimplemented_service", func(*testing.T) {
			interop.DoUnimplementedService(ctx, testgrpc.NewUnimplementedServiceClient(cc))
		})
		t.Run("many at once", func(t *testing.T) {
			conntest.Each(t, 50, func(i int) error {
				grpcCases[i%6].do(ctx, client)
				return nil
			})
		})
	})
}
