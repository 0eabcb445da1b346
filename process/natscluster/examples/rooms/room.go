package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/suiro-go/suiro/process"
	"github.com/suiro-go/suiro/process/natscluster"
	"github.com/suiro-go/suiro/sched"
)

// The messages of a room. A room sends its lines to the members as []byte.
type (
	enter struct{ Who process.PID }
	leave struct{ Who process.PID }
	say   struct {
		Who  process.PID
		Line string
	}
)

func types() *natscluster.Types {
	t := natscluster.NewTypes()
	natscluster.Register[enter](t, "enter", natscluster.AtLeastOnce)
	natscluster.Register[leave](t, "leave", natscluster.AtLeastOnce)
	natscluster.Register[say](t, "say", natscluster.AtLeastOnce)
	return t
}

// A house finds the rooms of the cluster. The first visitor of a room starts it, on the visitor's
// node.
type house struct {
	cluster *natscluster.Cluster
	ctx     context.Context // ends with the node
}

// found tells a client where a room is.
type found struct {
	name string
	pid  process.PID
	err  error
}

// find sends a found to who, soon.
func (h *house) find(who process.PID, name string) {
	go func() {
		ctx, cancel := context.WithTimeout(h.ctx, findTime)
		defer cancel()
		pid, err := h.room(ctx, name)
		_ = h.cluster.System().TrySend(who, found{name, pid, err}) // the client may have gone
	}()
}

const (
	findTime  = 30 * time.Second
	findAgain = 100 * time.Millisecond
)

func (h *house) room(ctx context.Context, name string) (process.PID, error) {
	sys := h.cluster.System()
	for {
		pid, err := h.cluster.Whereis(ctx, "room "+name)
		if err == nil {
			node := pid.Node()
			if node == h.cluster.Node() || slices.Contains(h.cluster.Nodes(), node) {
				return pid, nil
			}
			select { // until the node is found, or its lease has lapsed
			case <-time.After(findAgain):
				continue
			case <-ctx.Done():
				return pid, ctx.Err()
			}
		}
		if !errors.Is(err, process.ErrNoProcess) {
			return pid, err
		}
		r := &room{sys: sys, members: map[process.PID]uint64{}}
		ref, err := process.Go(sys, process.Options{Mailbox: 1 << 16}, r.run)
		if err != nil {
			return pid, err
		}
		if err = h.cluster.Register(ctx, "room "+name, ref.PID()); err == nil {
			return ref.PID(), nil
		}
		_ = sys.Kill(ref.PID())
		if !errors.Is(err, process.ErrNameTaken) { // else another client was faster
			return pid, err
		}
	}
}

// A room is a process. Its members are clients on any nodes, which it monitors.
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
			if _, member := r.members[m.Who]; !member {
				r.members[m.Who] = self.Monitor(m.Who)
				r.publish(cx, "* "+m.Who.String()+" is here\n")
			}
		case leave:
			self.Demonitor(r.members[m.Who])
			r.remove(cx, m.Who)
		case say:
			r.publish(cx, m.Who.String()+" "+m.Line+"\n")
		}
	}
}

func (r *room) remove(cx *sched.Context, who process.PID) {
	if _, member := r.members[who]; member {
		delete(r.members, who)
		r.publish(cx, "* "+who.String()+" is gone\n")
	}
}

// publish sends one line to all members. It waits if too much is under way to a node: then clients
// wait, too. A member of this node whose mailbox is full is slow, and leaves; join does that for
// those of other nodes.
func (r *room) publish(cx *sched.Context, line string) {
	encoded := []byte(line)
	for who := range r.members {
		if r.sys.Send(cx, who, encoded) == process.ErrMailboxFull {
			_ = r.sys.Kill(who) // its monitor tells the room
		}
	}
}
