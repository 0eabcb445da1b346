package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"regexp"
	"time"

	"github.com/suiro-go/suiro/conn/frame"
	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/process/natscluster"
	"github.com/suiro-go/suiro/server"
)

const (
	usage = "* /join ROOM or /quit; any other line is a message to the room\n"
	lobby = "lobby"

	// clientMailbox is how many lines a client may be behind.
	clientMailbox = 1 << 14

	// maxQueued is how many lines a client may type while it goes to a room.
	maxQueued = 1000
)

var (
	joins    = regexp.MustCompile(`^/join ([\w-]{1,20})$`)
	roomName = regexp.MustCompile(`^[\w-]{1,20}$`)
)

// A node is one node of the cluster, with a TCP server and a page.
type node struct {
	cluster *natscluster.Cluster
	tcp     *server.Server
	page    net.Listener
	http    *http.Server
	stop    context.CancelFunc // ends the house
}

// join joins a cluster, and serves the page.
func join(ctx context.Context, url, webAddr string) (*node, error) {
	var sys *process.System
	c, err := natscluster.Join(ctx, natscluster.Config{
		Cluster: "rooms", URL: url, Types: types(),
		Process: process.Config{
			Grace: -1, Overflow: process.OverflowWait,
			Dropped: func(to process.PID, _ any, why error) { // a client is too slow for a room of another node
				if why == process.ErrMailboxFull && sys != nil {
					_ = sys.Kill(to)
				}
			},
		},
	})
	if err != nil {
		return nil, err
	}
	sys = c.System()
	n := &node{cluster: c}
	ctx, n.stop = context.WithCancel(ctx)
	h := &house{c, ctx}
	n.tcp = &server.Server{Handler: process.Handler(sys, &client{house: h}, process.Options{Mailbox: clientMailbox, Overflow: process.OverflowRefuse})}
	if n.page, err = net.Listen("tcp", webAddr); err != nil {
		return nil, errors.Join(err, n.end(ctx))
	}
	n.http = &http.Server{Handler: newWeb(h), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = n.http.Serve(n.page) }() // ErrServerClosed
	return n, nil
}

func (n *node) end(ctx context.Context) error {
	n.stop()
	if n.http != nil {
		_ = n.http.Close()
	}
	return n.cluster.Shutdown(ctx)
}

// A client is the handler of all connections; a visit is the state of one.
type client struct {
	server.Base
	house *house
}

type visit struct {
	self   *process.Self
	name   string      // of the room
	room   process.PID // zero: not found yet
	tag    uint64      // of the room's monitor
	queued []string    // lines for it
	reader frame.Line
}

// OnStart greets the client, and goes to the lobby.
func (h *client) OnStart(c *server.Conn, self *process.Self) error {
	v := &visit{self: self, reader: frame.Line{Max: 1 << 10}}
	c.SetValue(v)
	_, err := c.WriteString("* you are " + self.PID().String() + " in " + lobby + "\n" + usage)
	h.move(v, lobby)
	return err
}

// OnData obeys the lines of the client.
func (h *client) OnData(c *server.Conn) error {
	v, _ := server.ValueOf[*visit](c)
	for line, err := range frame.All(c, &v.reader) {
		if err != nil {
			return err
		}
		switch command := joins.FindSubmatch(line); {
		case command != nil:
			h.move(v, string(command[1]))
		case string(line) == "/quit":
			return c.Close()
		case len(line) > 0 && line[0] == '/':
			_, err = c.WriteString(usage)
		case len(line) > 0 && v.room.IsZero():
			if v.queued = append(v.queued, string(line)); len(v.queued) > maxQueued {
				err = process.ErrMailboxFull
			}
		case len(line) > 0:
			err = v.say(string(line))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// say sends a line to the room. If the room has ended, its monitor says that.
func (v *visit) say(line string) error {
	err := v.self.TrySend(v.room, say{v.self.PID(), line})
	if errors.Is(err, process.ErrNoProcess) {
		return nil
	}
	return err
}

// OnEvent sends a line of the room, or enters a room that was found.
func (h *client) OnEvent(c *server.Conn, ev process.Event) error {
	v, _ := server.ValueOf[*visit](c)
	if ev.Type == process.EventDown && ev.Tag == v.tag { // with its node, perhaps: another one gets the room
		name := v.name
		v.name, v.room = "", process.PID{}
		h.move(v, name)
		_, err := c.WriteString("* the room has ended, and begins anew\n")
		return err
	}
	switch m := ev.Data.(type) {
	case []byte:
		_, err := c.Write(m)
		return err
	case found:
		switch {
		case m.name != v.name || !v.room.IsZero():
			return nil // the client has gone elsewhere
		case m.err != nil:
			return m.err
		}
		v.room, v.tag = m.pid, v.self.Monitor(m.pid)
		err := v.self.TrySend(m.pid, enter{v.self.PID()})
		for _, line := range v.queued {
			if err == nil {
				err = v.say(line)
			}
		}
		v.queued = nil
		if errors.Is(err, process.ErrNoProcess) {
			err = nil // see say
		}
		return err
	}
	return nil
}

// move goes to another room. Lines of the old one that are on their way still arrive.
func (h *client) move(v *visit, name string) {
	if name == v.name {
		return
	}
	if !v.room.IsZero() {
		v.self.Demonitor(v.tag)
		_ = v.self.TrySend(v.room, leave{v.self.PID()}) // it may have ended
	}
	v.name, v.room = name, process.PID{}
	h.house.find(v.self.PID(), name)
}
