package natscluster_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/patience"
	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/process/natscluster"
	"github.com/suiro-go/suiro/sched"
)

// For a process of the system that is one node.
const childEnv = "SUIRO_NATSCLUSTER_CHILD" // the URL of the server

// childLost is Config.Lost: 4 s, and more where processes of the system get less time.
var childLost = patience.Limit / 15

type (
	task struct { // send so many messages, until one is refused
		To       process.PID
		First, N int
		Shaky    bool
	}
	shaky  sure                       // its receiver allows for gaps
	meet   struct{ With process.PID } // ask it until it answers
	status struct {
		Sent, Received, Dropped int
		Later                   int // received shaky ones from number eachShaky on
		Met                     int
		Faults                  []string
	}
)

const eachShaky = 100_000

func childTypes() *natscluster.Types {
	t := newTypes()
	natscluster.Register[task](t, "task", natscluster.AtLeastOnce)
	natscluster.Register[shaky](t, "shaky", natscluster.AtLeastOnce)
	natscluster.Register[meet](t, "meet", natscluster.AtLeastOnce)
	natscluster.RegisterCall[bool, status](t, "status")
	return t
}

// child joins as a node with one process, registers it by the node's name, and ends with stdin.
func child() {
	cfg := testConfig(os.Getenv(childEnv))
	cfg.Types, cfg.Lost = childTypes(), childLost
	w := &worker{seen: newTally()}
	cfg.Process.Dropped = func(_ process.PID, m any, _ error) {
		if _, ok := m.(shaky); ok {
			w.dropped.Add(1)
		}
	}
	c, err := natscluster.Join(context.Background(), cfg)
	if err == nil {
		var ref process.Ref[any]
		w.c = c
		if ref, err = process.Go(c.System(), process.Options{}, w.run); err == nil {
			err = c.Register(context.Background(), os.Args[1], ref.PID())
		}
		if err == nil {
			err = c.JoinGroup("workers", ref.PID())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// A worker sends and counts messages.
type worker struct {
	c       *natscluster.Cluster
	seen    *tally
	sent    int
	later   int
	met     int
	dropped atomic.Int64
}

func (w *worker) run(cx *sched.Context, self *process.Inbox[any]) error {
	type sentAll struct{ n int }
	type met struct{}
	for {
		m, err := self.Receive(cx)
		if err != nil {
			return err
		}
		switch m := m.(type) {
		case task:
			go func() {
				n := 0
				for ; n < m.N; n++ {
					var message any = sure{self.PID(), m.First + n}
					if m.Shaky {
						message = shaky{self.PID(), m.First + n}
					}
					if w.c.System().Send(context.Background(), m.To, message) != nil {
						break
					}
				}
				_ = w.c.System().Deliver(context.Background(), self.PID(), sentAll{n})
			}()
		case meet:
			go func() {
				for {
					if _, err := process.Call[bool, status](context.Background(), w.c.System(), m.With, true); err == nil {
						break
					}
					time.Sleep(time.Millisecond) // between two questions
				}
				_ = w.c.System().Deliver(context.Background(), self.PID(), met{})
			}()
		case met:
			w.met++
		case sentAll:
			w.sent += m.n
		case sure:
			w.seen.note(m.From, m.N, false)
		case shaky:
			if w.seen.note(m.From, m.N, true); m.N >= eachShaky {
				w.later++
			}
		case *process.Request[bool, status]:
			m.Reply(status{w.sent, w.seen.count(), int(w.dropped.Load()), w.later, w.met, w.seen.faults()})
		}
	}
}

// A nodeProcess is a process of the system that is one node.
type nodeProcess struct {
	*exec.Cmd
	stdin io.Closer
	pid   process.PID
}

// startNode starts a process that is a node, and waits until c finds it.
func startNode(t testing.TB, c *natscluster.Cluster, name string) *nodeProcess {
	t.Helper()
	return startNodeAt(t, c, name, c.URL())
}

// startNodeAt is startNode with the URL of the server.
func startNodeAt(t testing.TB, c *natscluster.Cluster, name, url string) *nodeProcess {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	n := &nodeProcess{Cmd: exec.Command(program, name)}
	n.Env = append(os.Environ(), childEnv+"="+url)
	n.Stderr = os.Stderr
	n.stdin, err = n.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, n.Start())
	t.Cleanup(n.kill)
	eventually(t, func() bool {
		n.pid, err = c.Whereis(t.Context(), name)
		return err == nil
	})
	return n
}

// kill ends the process at once.
func (n *nodeProcess) kill() {
	if n.ProcessState == nil {
		_ = n.Process.Kill()
		_ = n.Wait()
		_ = n.stdin.Close()
	}
}

func statusOf(t testing.TB, c *natscluster.Cluster, n *nodeProcess) status {
	t.Helper()
	s, err := process.Call[bool, status](t.Context(), c.System(), n.pid, true)
	require.NoError(t, err)
	return s
}
