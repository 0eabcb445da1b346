package natscluster

import (
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
)

var crashes = map[string]func(){"panic": func() { panic("oh") }, "Goexit": runtime.Goexit}

// The numbers that a crashing codec cannot encode or decode.
const (
	badToDecode = 13
	badToEncode = 20
)

// A crashing is a Codec that crashes with some numbers.
type crashing struct {
	Codec
	do func()
}

func numberIn(v any) int {
	switch v := v.(type) {
	case *int:
		return *v
	case certain:
		return v.N
	case *certain:
		return v.N
	}
	return 0
}

func (c crashing) Append(b []byte, v any) ([]byte, error) {
	if numberIn(v) == badToEncode {
		c.do()
	}
	return c.Codec.Append(b, v)
}

func (c crashing) Decode(data []byte, into any) error {
	err := c.Codec.Decode(data, into)
	if numberIn(into) == badToDecode {
		c.do()
	}
	return err
}

// adder answers with the next number.
func adder(cx *sched.Context, self *process.Inbox[*process.Request[int, int]]) error {
	for {
		q, err := self.Receive(cx)
		if err != nil {
			return err
		}
		q.Reply(q.Body + 1)
	}
}

// NodeChanged is called on the goroutines that receive frames and send heartbeats.
func TestANodeChangedThatCrashesStopsNoNode(t *testing.T) {
	for name, do := range crashes {
		t.Run(name, func(t *testing.T) {
			changes := make(chan bool, 10)
			var l log
			near := alone(t, func(cfg *Config) {
				cfg.Logger = slog.New(slog.NewTextHandler(&l, nil))
				cfg.NodeChanged = func(_ uint64, found bool) {
					changes <- found
					do()
				}
			})
			for range 2 {
				far, err := Join(t.Context(), Config{URL: near.URL(), Types: near.cfg.Types, Lost: near.cfg.Lost})
				require.NoError(t, err)
				require.True(t, <-changes)
				ref, err := process.Go(far.sys, process.Options{}, adder)
				require.NoError(t, err)
				n, err := process.Call[int, int](t.Context(), near.sys, ref.PID(), 1)
				require.NoError(t, err)
				require.Equal(t, 2, n)
				require.NoError(t, far.Shutdown(t.Context()))
				require.False(t, <-changes)
			}
			if name == "panic" {
				require.Eventually(t, func() bool { return l.lines("NodeChanged panicked") == 4 }, patience.Limit, time.Millisecond)
			}
		})
	}
}

// NameLost is called on the goroutine that renews the lease.
func TestANameLostThatCrashesStopsNoRenewal(t *testing.T) {
	for name, do := range crashes {
		t.Run(name, func(t *testing.T) {
			lost := make(chan string, 2)
			c, pid := named(t, func(name string) {
				lost <- name
				do()
			})
			n, ctx := &c.names, t.Context()
			for _, name := range []string{"a", "b"} {
				require.NoError(t, c.Register(ctx, name, pid))
				_, err := n.pids.Put(ctx, nameKey(name), encoded(t, pidOf(7))) // another node takes it
				require.NoError(t, err)
			}
			over := make(chan bool, 1)
			go func() {
				confirmed := false
				defer func() { over <- confirmed }()
				confirmed = c.confirmNames(ctx)
			}()
			require.True(t, <-over)
			require.ElementsMatch(t, []string{"a", "b"}, []string{<-lost, <-lost})
		})
	}
}

// A message that the codec cannot decode is dropped. All others arrive, and calls get an error.
func TestACodecThatCrashesStopsNoNode(t *testing.T) {
	for name, do := range crashes {
		t.Run(name, func(t *testing.T) {
			var l log
			codec := crashing{CBOR, do}
			near := alone(t, func(cfg *Config) { cfg.Codec = codec })
			far := alone(t, func(cfg *Config) {
				cfg.URL, cfg.Codec = near.URL(), codec
				cfg.Logger = slog.New(slog.NewTextHandler(&l, nil))
			})
			got := make(chan any, 10)
			ref, err := process.Go(far.sys, process.Options{}, func(cx *sched.Context, self *process.Inbox[any]) error {
				for {
					m, err := self.Receive(cx)
					if err != nil {
						return err
					}
					got <- m
				}
			})
			require.NoError(t, err)
			for _, n := range []int{1, badToDecode, 2, badToDecode} {
				require.NoError(t, near.sys.TrySend(ref.PID(), certain{n}))
			}
			require.NoError(t, near.Flush(t.Context()))
			require.Equal(t, certain{1}, <-got)
			require.Equal(t, certain{2}, <-got)
			require.Equal(t, 2, l.lines("cannot be decoded"))

			for _, n := range []int{badToDecode, badToDecode - 1, badToEncode - 1, 5} {
				answers, err := process.Go(far.sys, process.Options{}, adder)
				require.NoError(t, err)
				answer, err := process.Call[int, int](t.Context(), near.sys, answers.PID(), n)
				if n == 5 {
					require.NoError(t, err)
					require.Equal(t, 6, answer)
				} else {
					require.ErrorContains(t, err, errCrashed.Error())
				}
			}
			p := near.all()[0]
			require.Eventually(t, func() bool {
				p.mu.Lock()
				defer p.mu.Unlock()
				return p.freed == p.sent
			}, patience.Limit, time.Millisecond, "all has left the window")
		})
	}
}

// The messages of a lost node go to Dropped, except for those that the codec cannot decode.
func TestACodecThatCrashesWithALostNode(t *testing.T) {
	for name, do := range crashes {
		t.Run(name, func(t *testing.T) {
			dropped := make(chan any, 10)
			c := alone(t, func(cfg *Config) {
				cfg.Codec = crashing{CBOR, do}
				cfg.Process.Dropped = func(_ process.PID, m any, _ error) { dropped <- m }
			})
			p := c.heard(7)
			for _, n := range []int{1, badToDecode, 2} {
				require.NoError(t, c.sys.TrySend(pidOf(7), certain{n}))
			}
			over := make(chan bool, 1)
			go func() {
				returned := false
				defer func() { over <- returned }()
				c.lose(p)
				returned = true
			}()
			require.True(t, <-over)
			require.Equal(t, certain{1}, <-dropped)
			require.Equal(t, certain{2}, <-dropped)
		})
	}
}
