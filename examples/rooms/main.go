// Rooms is a chat whose rooms and connections are processes.
//
//	go run ./examples/rooms -addr 127.0.0.1:9001 [-backend io_uring|epoll] [-workers N]
//	go run ./examples/rooms -selftest
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"

	"github.com/suiro-go/suiro/conn/frame"
	"github.com/suiro-go/suiro/examples/internal/app"
	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

const (
	usage = "* /join ROOM or /quit; any other line is a message to the room\n"
	lobby = "lobby"
)

var join = regexp.MustCompile(`^/join ([\w-]{1,20})$`)

// The messages of a room. A room answers an entering connection, and publishes lines.
type (
	enter struct{ who process.PID }
	leave struct{ who process.PID }
	say   struct {
		who  process.PID
		line string
	}
)

// A house starts rooms. A room that has failed is made anew by its next visitor.
type house struct{ sys *process.System }

// room is the room with that name, which may be new.
func (h *house) room(name string) (process.PID, error) {
	for {
		if pid, ok := h.sys.Whereis(name); ok {
			return pid, nil
		}
		r := &room{sys: h.sys, members: map[process.PID]uint64{}}
		ref, err := process.Go(h.sys, process.Options{Name: name, Mailbox: 1 << 16}, r.run)
		if err != process.ErrNameTaken { // else another connection has made it
			return ref.PID(), err
		}
	}
}

// A room is a process. Its members are connections, which it monitors.
type room struct {
	sys     *process.System
	members map[process.PID]uint64 // and the tags of the monitors
}

func (r *room) run(cx *sched.Context, self *process.Inbox[any]) error {
	for {
		ev, err := self.ReceiveEvent(cx)
		if err != nil {
			return err
		}
		switch ev.Type {
		case process.EventCancel:
			return process.ErrCanceled
		case process.EventDown:
			r.remove(cx, ev.Data.(process.PID))
			continue
		}
		switch m := ev.Data.(type) {
		case enter:
			r.members[m.who] = self.Monitor(m.who)
			r.publish(cx, "* "+m.who.String()+" is here\n")
		case leave:
			self.Demonitor(r.members[m.who])
			r.remove(cx, m.who)
		case say:
			r.publish(cx, m.who.String()+" "+m.line+"\n")
		}
	}
}

func (r *room) remove(cx *sched.Context, who process.PID) {
	if _, member := r.members[who]; member {
		delete(r.members, who)
		r.publish(cx, "* "+who.String()+" is gone\n")
	}
}

// publish sends one line to all members. It is encoded once. A member whose mailbox is full is
// slow, and leaves.
func (r *room) publish(cx *sched.Context, line string) {
	encoded := []byte(line)
	for who := range r.members {
		if r.sys.Send(cx, who, encoded) == process.ErrMailboxFull {
			_ = r.sys.Kill(who) // its monitor tells the room
		}
	}
}

// A client is the handler of all connections; a visit is the state of one.
type client struct {
	server.Base
	house *house
}

type visit struct {
	self  *process.Self
	room  process.PID
	lines frame.Line
}

// OnStart greets the client and enters the lobby.
func (h *client) OnStart(c *server.Conn, self *process.Self) error {
	v := &visit{self: self, lines: frame.Line{Max: 1 << 10}}
	c.SetValue(v)
	if _, err := c.WriteString("* you are " + self.PID().String() + " in " + lobby + "\n" + usage); err != nil {
		return err
	}
	return h.move(v, lobby)
}

// OnData obeys the lines of the client.
func (h *client) OnData(c *server.Conn) error {
	v, _ := server.ValueOf[*visit](c)
	for line, err := range frame.All(c, &v.lines) {
		if err != nil {
			return err
		}
		switch command := join.FindSubmatch(line); {
		case command != nil:
			err = h.move(v, string(command[1]))
		case string(line) == "/quit":
			return c.Close()
		case len(line) > 0 && line[0] == '/':
			_, err = c.WriteString(usage)
		case len(line) > 0:
			err = v.self.TrySend(v.room, say{v.self.PID(), string(line)})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// OnEvent sends a line of the room. The lines of one run leave as one send.
func (h *client) OnEvent(c *server.Conn, ev process.Event) error {
	line, ok := ev.Data.([]byte)
	if !ok {
		return nil
	}
	_, err := c.Write(line)
	return err
}

// move goes to another room. Lines of the old one that are on their way still arrive.
func (h *client) move(v *visit, name string) error {
	to, err := h.house.room(name)
	if err != nil || to == v.room {
		return err
	}
	if !v.room.IsZero() {
		_ = v.self.TrySend(v.room, leave{v.self.PID()}) // it may have ended
	}
	v.room = to
	return v.self.TrySend(to, enter{v.self.PID()})
}

func main() {
	sys := process.New(process.Config{})
	s := &server.Server{Handler: process.Handler(sys, &client{house: &house{sys}}, process.Options{Mailbox: 1 << 14})}
	app.Flags(s, "127.0.0.1:9001")
	test := flag.Bool("selftest", false, "send and check 10,000 messages in this process, print the figures and end")
	flag.Parse()
	if *test {
		s.Addr = "127.0.0.1:0"
		if err := selftest(s); err != nil {
			fmt.Fprintln(os.Stderr, "rooms:", err)
			os.Exit(1)
		}
	} else {
		app.Main("rooms", s)
	}
	if err := sys.Shutdown(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "rooms:", err)
		os.Exit(1)
	}
}
