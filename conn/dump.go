package conn

import (
	"io"

	"github.com/suiro-go/suiro/internal/dumptext"
)

// Dump writes a report of what the group does now, for people who look into a hang: its
// connections, listeners and packet sockets, and then what Runtime.Dump writes about workers, tasks
// and stacks. At most 200 connections are listed, with their handler, peer, bytes and flags.
//
// Dump works while all workers are stuck: it waits only for a moment for locks, and writes "busy"
// for what they guard. The text has no fixed form. Any goroutine may call Dump, and handlers. The
// error is that of w.
func (g *Group) Dump(w io.Writer) error {
	var text dumptext.Text
	g.core.Dump(&text)
	_ = g.Runtime().Dump(&text)
	_, err := w.Write(text.Bytes())
	return err
}
