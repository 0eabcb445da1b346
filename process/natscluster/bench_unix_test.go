//go:build unix

package natscluster_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/process/natscluster"
)

// benchPayload is as long as a short line of a chat.
const benchPayload = 64

// cpu is the processor time of the program, with the server in it.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// perCPU runs send, and reports messages per second of processor time.
func perCPU(b *testing.B, send func()) {
	b.Helper()
	b.ReportAllocs()
	b.ResetTimer()
	before := cpu(b)
	send()
	b.ReportMetric(float64(b.N)/(cpu(b)-before).Seconds(), "msg/cpu-s")
}

// A counting is a process that counts messages.
type counting struct {
	left int
	done chan struct{}
}

func (c *counting) Init(context.Context, string, any) error { return nil }
func (c *counting) Close()                                  {}

func (c *counting) Step(events []process.Event, out *process.StepOutput) error {
	c.left -= len(events)
	out.Status = process.Idle
	if c.left <= 0 {
		close(c.done)
		out.Status = process.Complete
	}
	return nil
}

type benchLine struct{ Text []byte }

// Messages go from one connection to another one, through one server. The first case is publish and
// subscribe by nats.go alone.
func BenchmarkMessages(b *testing.B) {
	host := join(b, testConfig(""))
	b.Run("nats.go", func(b *testing.B) {
		from, err := nats.Connect(host.URL())
		require.NoError(b, err)
		defer from.Close()
		to, err := nats.Connect(host.URL())
		require.NoError(b, err)
		defer to.Close()
		left, done := b.N, make(chan struct{})
		s, err := to.Subscribe("bench", func(*nats.Msg) {
			if left--; left == 0 {
				close(done)
			}
		})
		require.NoError(b, err)
		require.NoError(b, s.SetPendingLimits(-1, -1))
		require.NoError(b, to.Flush())
		payload := make([]byte, benchPayload)
		perCPU(b, func() {
			for i := range b.N {
				if err := from.Publish("bench", payload); err != nil {
					b.Fatal(err)
				}
				if i%10_000 == 9_999 { // or the server takes the subscriber for a slow one
					require.NoError(b, from.Flush())
				}
			}
			require.NoError(b, from.Flush())
			<-done
		})
	})
	types := newTypes()
	type sureLine struct{ Text []byte }
	natscluster.Register[benchLine](types, "plain line", natscluster.AtMostOnce)
	natscluster.Register[sureLine](types, "sure line", natscluster.AtLeastOnce)
	cfg := testConfig(host.URL())
	cfg.Types = types
	from, to := join(b, cfg), join(b, cfg)
	payload := make([]byte, benchPayload)
	for _, m := range []struct {
		name    string
		message any
	}{{"bytes", payload}, {"cbor", benchLine{payload}}, {"cbor,at-least-once", sureLine{payload}}} {
		b.Run(m.name, func(b *testing.B) {
			c := &counting{left: b.N, done: make(chan struct{})}
			pid, err := process.Start(to.System(), c, process.Options{Mailbox: -1})
			require.NoError(b, err)
			perCPU(b, func() {
				for range b.N {
					if err := from.System().Send(b.Context(), pid, m.message); err != nil {
						b.Fatal(err)
					}
				}
				<-c.done
			})
		})
	}
}
