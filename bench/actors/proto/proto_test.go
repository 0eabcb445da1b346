// Package proto has the case of Proto.Actor, in a program of its own: it and Hollywood have a
// protobuf file of the same name.
package proto

import (
	"log/slog"
	"testing"

	proto "github.com/asynkron/protoactor-go/actor"

	"github.com/suiro-go/suiro/bench/actors/internal/cases"
)

var libraries = []cases.Library{cases.Suiro, {Name: "protoactor", Make: newProto}}

func TestTheCasesPassMessages(t *testing.T) { cases.Check(t, libraries...) }

func BenchmarkPingPong(b *testing.B) { cases.PingPong(b, libraries...) }
func BenchmarkFanIn(b *testing.B)    { cases.FanIn(b, libraries...) }
func BenchmarkSpawn(b *testing.B)    { cases.Spawn(b, libraries...) }
func BenchmarkIdle(b *testing.B)     { cases.Idle(b, libraries...) }

// Proto.Actor.
type protoSystem struct{ *proto.ActorSystem }

func newProto() (cases.System, error) {
	quiet := proto.WithLoggerFactory(func(*proto.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) })
	return protoSystem{proto.NewActorSystem(quiet)}, nil
}

func (s protoSystem) Spawn(r cases.Receiver) any {
	var c proto.Context
	var now *cases.Message
	reply := func(to any) { c.Send(to.(*proto.PID), now) }
	return s.Root.Spawn(proto.PropsFromFunc(func(cx proto.Context) {
		if m, ok := cx.Message().(*cases.Message); ok {
			c, now = cx, m
			r(reply, m)
		}
	}))
}

func (s protoSystem) Send(to any, m *cases.Message) { s.Root.Send(to.(*proto.PID), m) }
func (s protoSystem) Stop(a any)                    { s.Root.Stop(a.(*proto.PID)) }
func (s protoSystem) Close()                        { s.Shutdown() }
