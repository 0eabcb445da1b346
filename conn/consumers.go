package conn

import (
	"github.com/suiro-go/suiro/internal/core"
	"github.com/suiro-go/suiro/internal/receive"
	"github.com/suiro-go/suiro/reactor"
)

// The parts in a run that a Socket and a Stream have no use for. Neither embeds core.Plain, whose
// methods users would see then.

func (*socketEvents) Hear(c *core.Conn)                    { new(core.Plain).Hear(c) }
func (*socketEvents) Policy(g *core.Group) *receive.Policy { return new(core.Plain).Policy(g) }
func (*socketEvents) MayRead(c *core.Conn) bool            { return new(core.Plain).MayRead(c) }
func (*socketEvents) Readable(c *core.Conn)                { new(core.Plain).Readable(c) }
func (*socketEvents) Settled(c *core.Conn)                 { new(core.Plain).Settled(c) }
func (*socketEvents) Calm(c *core.Conn) bool               { return new(core.Plain).Calm(c) }
func (*socketEvents) Paces() bool                          { return new(core.Plain).Paces() }
func (*socketEvents) Came(c *core.Conn, b reactor.Buffer)  { new(core.Plain).Came(c, b) }
func (*socketEvents) Begin() bool                          { return new(core.Plain).Begin() }
func (*socketEvents) Resume()                              { new(core.Plain).Resume() }
func (*socketEvents) End() bool                            { return new(core.Plain).End() }
func (*socketEvents) Departs(c *core.Conn) bool            { return new(core.Plain).Departs(c) }
func (*socketEvents) WantsRoom() bool                      { return new(core.Plain).WantsRoom() }
func (*socketEvents) OfStream() bool                       { return new(core.Plain).OfStream() }
func (*socketEvents) EndAsked() bool                       { return new(core.Plain).EndAsked() }

func (*streamEvents) Hear(c *core.Conn)                    { new(core.Plain).Hear(c) }
func (*streamEvents) Policy(g *core.Group) *receive.Policy { return new(core.Plain).Policy(g) }
func (*streamEvents) MayRead(c *core.Conn) bool            { return new(core.Plain).MayRead(c) }
func (*streamEvents) Readable(c *core.Conn)                { new(core.Plain).Readable(c) }
func (*streamEvents) Settled(c *core.Conn)                 { new(core.Plain).Settled(c) }
func (*streamEvents) Calm(c *core.Conn) bool               { return new(core.Plain).Calm(c) }
func (*streamEvents) Paces() bool                          { return new(core.Plain).Paces() }
func (*streamEvents) Hungry() bool                         { return new(core.Plain).Hungry() }
func (*streamEvents) HasUnread() bool                      { return new(core.Plain).HasUnread() }
func (*streamEvents) CountsMemory(unread int) bool         { return new(core.Plain).CountsMemory(unread) }
func (*streamEvents) Sips() bool                           { return new(core.Plain).Sips() }
func (*streamEvents) Hung() bool                           { return new(core.Plain).Hung() }
func (*streamEvents) KeepsAll() bool                       { return new(core.Plain).KeepsAll() }
