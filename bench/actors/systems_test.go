package actors

import (
	"fmt"
	"runtime"
	"testing"

	hollywood "github.com/anthdm/hollywood/actor"
	"github.com/ergo-services/ergo"
	"github.com/ergo-services/ergo/etf"
	"github.com/ergo-services/ergo/gen"
	"github.com/ergo-services/ergo/node"

	"github.com/suiro-go/suiro/bench/actors/internal/cases"
)

var libraries = []cases.Library{cases.Suiro, cases.Bounded, {Name: "hollywood", Make: newHollywood}, {Name: "ergo", Make: newErgo}, cases.Channels}

func TestTheCasesPassMessages(t *testing.T) { cases.Check(t, libraries...) }

func BenchmarkPingPong(b *testing.B) { cases.PingPong(b, libraries...) }
func BenchmarkFanIn(b *testing.B)    { cases.FanIn(b, libraries...) }
func BenchmarkSpawn(b *testing.B)    { cases.Spawn(b, libraries...) }
func BenchmarkIdle(b *testing.B)     { cases.Idle(b, libraries...) }

// Hollywood.
type hollywoodSystem struct{ *hollywood.Engine }

func newHollywood() (cases.System, error) {
	e, err := hollywood.NewEngine(hollywood.NewEngineConfig())
	return hollywoodSystem{e}, err
}

func (s hollywoodSystem) Spawn(r cases.Receiver) any {
	var c *hollywood.Context
	var now *cases.Message
	reply := func(to any) { c.Send(to.(*hollywood.PID), now) }
	return s.SpawnFunc(func(cx *hollywood.Context) {
		if m, ok := cx.Message().(*cases.Message); ok {
			c, now = cx, m
			r(reply, m)
		}
	}, "a")
}

func (s hollywoodSystem) Send(to any, m *cases.Message) { s.Engine.Send(to.(*hollywood.PID), m) }
func (s hollywoodSystem) Stop(a any)                    { <-s.Engine.Stop(a.(*hollywood.PID)).Done() }
func (s hollywoodSystem) Close()                        {}

// Ergo. Its mailboxes have a limit; a sender tries again.
type ergoSystem struct {
	node   node.Node
	sender gen.Process
}

func newErgo() (cases.System, error) {
	n, err := ergo.StartNode(fmt.Sprintf("bench%d@localhost", lastNode.next()), "cookie", node.Options{})
	if err != nil {
		return nil, err
	}
	s := ergoSystem{node: n}
	s.sender, err = n.Spawn("", gen.ProcessOptions{}, &ergoActor{})
	return s, err
}

type counter struct{ n int }

func (c *counter) next() int { c.n++; return c.n }

var lastNode counter

type ergoActor struct {
	gen.Server
	receive cases.Receiver
}

func (a *ergoActor) HandleInfo(p *gen.ServerProcess, m etf.Term) gen.ServerStatus {
	if m, ok := m.(*cases.Message); ok {
		a.receive(func(to any) { _ = p.Send(to, m) }, m)
	}
	return gen.ServerStatusOK
}

func (s ergoSystem) Spawn(r cases.Receiver) any {
	p, err := s.node.Spawn("", gen.ProcessOptions{}, &ergoActor{receive: r})
	if err != nil {
		panic(err)
	}
	return p.Self()
}

func (s ergoSystem) Send(to any, m *cases.Message) {
	for s.sender.Send(to, m) != nil {
		runtime.Gosched()
	}
}

func (s ergoSystem) Stop(a any) { s.node.ProcessByPid(a.(etf.Pid)).Kill() }
func (s ergoSystem) Close()     { s.node.Stop() }
