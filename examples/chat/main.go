// Chat serves rooms to line-based clients such as nc.
//
//	go run ./examples/chat -addr 127.0.0.1:9001 [-backend io_uring|epoll] [-workers N]
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/suiro-go/suiro/chanx"
	"github.com/suiro-go/suiro/conn/frame"
	"github.com/suiro-go/suiro/examples/internal/app"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

var (
	usage       = "/join ROOM or /nick NAME, of 1 to 20 letters, digits, - and _\n"
	command     = regexp.MustCompile(`^/(join|nick) ([\w-]{1,20})$`)
	unprintable = regexp.MustCompile(`[^\pL\pM\pN\pP\pS ]`) // above all escape sequences
)

// A hub is the rooms that have members, and their nicknames.
type hub struct {
	backlog int
	guests  atomic.Int64
	mu      sync.Mutex // held for some instructions: no task waits while it holds it
	rooms   map[string]*chanx.BroadcastSender[message]
	nicks   sync.Map // the keys: nicknames that clients have taken
}

// A message is a line for the members of a room, but for the one it is from.
type message struct {
	text string
	from *client
}

// A client is a member of a room. Its own task alone uses it.
type client struct {
	nick, room string
	out        *chanx.BroadcastSender[message]
	in         *chanx.BroadcastReceiver[message]
}

// say sends a line to the room. It never waits.
func (c *client) say(cx *sched.Context, text string) { _, _ = c.out.Send(cx, message{text + "\n", c}) }

// move takes a client from its room to another one; "" is none.
func (h *hub) move(cx *sched.Context, c *client, room string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.in != nil {
		if c.in.Close(); c.out.Receivers() == 0 {
			delete(h.rooms, c.room)
		}
		c.say(cx, "* "+c.nick+" is gone")
	}
	if c.room, c.out = room, h.rooms[room]; room == "" {
		h.nicks.Delete(c.nick)
	} else if c.out != nil {
		c.say(cx, "* "+c.nick+" is here")
		c.in = c.out.Subscribe()
	} else {
		c.out, c.in = chanx.NewBroadcast[message](max(1, h.backlog))
		h.rooms[room] = c.out
	}
}

// serve is a connection. A second function reads lines, so that this one waits for a line, for the
// room and for the shutdown at once. This one alone writes, so lines never mix.
func (h *hub) serve(cx *sched.Context, s *server.Stream) error {
	typed, lines := chanx.NewBounded[string](1)
	reader := s.Go(func(cx *sched.Context) error {
		defer typed.Close()
		for text, err := range frame.Each(s, &frame.Line{Max: 1 << 10, Unterminated: true}) {
			if err != nil || typed.Send(cx, unprintable.ReplaceAllString(string(text), "")) != nil {
				return err
			}
		}
		return nil
	})
	c := &client{nick: fmt.Sprint("guest#", h.guests.Add(1))} // "#": nobody can take that name
	h.move(cx, c, "lobby")
	defer h.move(cx, c, "")
	for text, last := "* you are "+c.nick+" in lobby; "+usage, false; ; {
		if _, err := io.WriteString(s, text); err != nil || last {
			return errors.Join(err, s.CloseRead()) // the reader ends
		}
		got, err := sched.Await(cx, sched.SelectBiased( // the room first: else a client outruns itself
			sched.Any(s.Draining()), sched.Any(c.in.RecvFuture()), sched.Any(lines.RecvFuture())))
		var lagged chanx.LaggedError
		switch heard, _ := got.Value.(message); {
		case err != nil:
			return err
		case got.Index == 0:
			text, last = "* the server shuts down\n", true
		case errors.As(got.Err, &lagged):
			text, last = fmt.Sprintf("* you are too slow: %d messages are lost, goodbye\n", lagged.Missed), true
		case got.Err != nil: // there are no more lines
			return reader.Join(cx)
		case heard.from == c, got.Value == "":
			text = ""
		case heard.from != nil:
			text = heard.text
		default:
			text = h.obey(cx, c, got.Value.(string))
		}
	}
}

// obey does what a client has typed, which is not "", and returns the answer.
func (h *hub) obey(cx *sched.Context, c *client, typed string) (answer string) {
	words := command.FindStringSubmatch(typed)
	switch {
	case typed[0] != '/':
		c.say(cx, "<"+c.nick+"> "+typed)
		return ""
	case words == nil:
		return "* no; " + usage
	case words[1] == "join":
		h.move(cx, c, words[2])
		return "* you are in " + c.room + "\n"
	}
	if _, taken := h.nicks.LoadOrStore(words[2], true); taken {
		return "* somebody is " + words[2] + "\n"
	}
	c.say(cx, "* "+c.nick+" is now "+words[2])
	h.nicks.Delete(c.nick)
	c.nick = words[2]
	return "* you are " + c.nick + "\n"
}

func main() {
	h := &hub{rooms: map[string]*chanx.BroadcastSender[message]{}}
	// without WriteBuffer the kernel would buffer up to 4 MiB for a client that does not read
	s := &server.Server{Handler: server.Sequential(h.serve), WriteBuffer: 64 << 10}
	app.Flags(s, "127.0.0.1:9001")
	flag.IntVar(&h.backlog, "backlog", 1024, "how many `messages` a client may be behind its room")
	flag.DurationVar(&s.ConnConfig.WriteTimeout, "write-timeout", 5*time.Second, "how long a client may take nothing")
	flag.Parse()
	s.ConnConfig.LingerTimeout = s.ConnConfig.WriteTimeout // also of one that is told goodbye
	app.Main("chat", s)
}
