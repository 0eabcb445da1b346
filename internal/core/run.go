package core

import (
	"syscall"

	"github.com/suiro-go/suiro/internal/mailbox"
	"github.com/suiro-go/suiro/sched"
)

// maxCalls is how often one run of a task calls OnData: then others have a turn.
const maxCalls = 128

// Run implements sched.Body. One run deals with the contents of the inbox, calls the handler, and
// then gives the kernel everything that follows. The run itself is here, not in a method of Conn:
// another frame would make each switch to a coroutine dearer.
func (t *connTask) Run(cx *sched.Context) (done bool) {
	c := (*Conn)(t)
	c.Driver = cx.Driver().(*Driver)
	c.Driver.budget = maxCalls
	if c.pendingWork == nil {
		c.pendingWork = c.Driver.pendingWork.Get()
		c.reader.c, c.writer.c, c.roles = c, c, rolesOf(c)
	}
	var n runInput
	n.collect(c)
	defer n.drop(c) // if a handler ends the goroutine: see Exited
	c.Driver.received = len(n.Chunks) > 0 || n.Signs.Is(mailbox.RecvEnded)
	c.InFlight = n.unsent
	if c.Extras != nil && len(n.Chunks) > 0 {
		c.Extras.Clock.Came(cx.Now()) // when it came: the tick began with that
	}
	if n.Signs.Is(readable) {
		c.Reading.Clear(polling | stopping)
	}
	if n.Signs.Is(watchHung | watchOver) {
		c.More().watch.hear(&n)
	}
	c.call(func() { c.work(&n) })
	f, p := c.functions, c.passer // as of the end of work
	if f != nil {
		for more := f.Begin(); more; more = f.End() {
			f.Resume()
		}
	}
	if !c.In.Empty() || c.In.Attached() { // any method may have read it
		c.detach()
	}
	n.drop(c)
	c.startDialed()
	if done = c.settle(); !done && p != nil {
		p.Settled(c)
	}
	if c.Group.Bounded() {
		c.settleMemory()
	}
	c.sparePendingWork(done)
	return done
}

// sparePendingWork is the end of a run: pendingWork is given back if it is empty.
func (c *Conn) sparePendingWork(done bool) {
	if !c.empty() {
		return
	}
	c.InFlight = 0 // collect tells
	c.reader.c, c.writer.c, c.roles = nil, nil, roles{}
	c.Driver.pendingWork.Put(c.pendingWork)
	c.pendingWork = nil
	if done {
		c.pendingWork = &noPendingWork
	}
}

// noPendingWork is that of connections that have ended: a late holder of one may look at it.
var noPendingWork pendingWork

// work calls the handler as its input demands. It changes flags and queues;
// settle draws the consequences.
func (c *Conn) work(n *runInput) {
	if n.Signs.Is(mailbox.SendEnded) {
		c.sendEnd(syscall.Errno(n.SendErrno))
	}
	if n.connectEnded {
		connectEnd(c, syscall.Errno(n.SendErrno))
	}
	if c.Extras.racing() {
		c.Extras.dial.reap(c)
	}
	if !c.Is(Opened|Broken) && !c.Is(dialed) {
		c.Set(Opened)
		startClock(c)
		c.Check(c.Group.Events.OnOpen(c))
		c.readFirst()
	}
	for n.told < len(n.Commands) {
		n.told++
		c.toWrite -= len(n.Commands[n.told-1].Data)
		c.exec(&n.Commands[n.told-1])
	}
	if c.passer != nil {
		c.passer.Hear(c)
	}
	if c.Group.Bounded() && (c.Reading.Is(starved|Unoffered) || len(n.Chunks) > 0 || n.Signs.Is(readable) && c.Reading.Is(TaskReads) && c.passer == nil) {
		c.starve()
	}
	if c.Reading.Is(Paused) && c.Unsent() <= c.Group.Config.LowWater {
		c.Reading.Clear(Paused)
		if !c.Is(WriteClosed | Closing | Broken) {
			c.Check(c.Group.Events.OnWritable(c))
		}
	}
	came := 0
	// after readFirst the calls of this run may be spent
	if c.Reading.Is(Unoffered) && !c.Is(Closing|Broken) && !c.Reading.Is(waiting) && !c.spent() {
		if c.passer != nil { // a splice is bulk by the bytes that it hands over in a run
			came = len(c.In.Unread)
		}
		c.Offer()
	}
	if n.Signs.Is(readable) && c.Reading.Is(TaskReads) && !c.Is(Closing|Broken) && !c.Reading.Is(waiting|ReadClosed|Ended) {
		c.readable()
	}
	for n.next < len(n.Chunks) && !c.spent() {
		n.next++
		came += len(n.Chunks[n.next-1].Bytes)
		c.receive(n.Chunks[n.next-1])
	}
	if came >= throughMost || c.Reading.State() != 0 { // else it is little in any policy
		c.gauge(came)
	}
	switch {
	case c.spent() && (n.next < len(n.Chunks) || c.Reading.Is(Unoffered)):
		n.putBack(c)
		c.Driver.Cx.Wake(c.Task.Waker())
	case n.Signs.Is(mailbox.RecvEnded):
		n.Signs &^= mailbox.RecvEnded
		c.recvEnd(syscall.Errno(n.RecvErrno))
	}
	if n.Signs.Is(watchEnded) && c.Reading.Is(receiving) && !c.Is(Broken) && !c.Reading.Is(stopping) {
		c.stopReceiving()
	}
	if c.Is(SendFailed) && !c.Is(Broken) {
		c.readRest()
	}
	if c.Reading.Is(Ended) {
		c.offerEnd()
	}
	if c.Extras != nil {
		c.Extras.watch.act(c)
		c.Extras.Clock.check(c)
		if c.Unsent() == 0 && !c.Is(Broken|SendFailed) {
			c.notifySent(nil)
		}
	}
	if !c.Is(Drained|Broken) && c.Group.Draining(c.Is(Outbound)) {
		c.drain()
	}
	if c.Extras != nil {
		c.Extras.arrival.check(c)
	}
}

func (c *Conn) exec(cmd *Command) {
	switch {
	case !c.Is(Broken) && c.Filter().hold(cmd):
		return
	case cmd.Kind == CmdSplice: // in any state: the other end must learn of it
		cmd.What.(Joiner).Join(c)
		return
	case c.Is(Broken):
		return
	}
	switch cmd.Kind {
	case cmdRaw:
		if !c.Is(Closing) {
			Enqueue(c, cmd.Data)
		}
	case CmdInner, CmdFile:
		c.perform(cmd.What)
		c.detach()
	case CmdSend:
		switch {
		case c.Is(WriteClosed|Closing) || c.Filter().Lent() || len(cmd.Data) == 0:
		case c.Is(overdue): // a later deadline would make a hole of it
			stuck(c)
		default:
			Enqueue(c, cmd.Data)
		}
	case cmdWrite:
		c.takeOver(cmd.Data)
	case CmdDo:
		if cmd.counted {
			c.uncount()
		}
		c.perform(cmd.What)
		c.detach()
	case CmdClose:
		if !c.Is(Closing) {
			_ = c.Close()
		}
	case CmdAbort:
		c.Abort()
	case cmdDrain:
		c.drain()
	case cmdStage:
		stageBegins(c)
	}
}

// settle gives the kernel the results of a run, and reports whether the connection is over.
func (c *Conn) settle() (done bool) {
	if c.Is(Broken) {
		return tearDown(c)
	}
	if !c.Is(Opened) {
		connect(c)
		armClock(c)
		return c.Is(Broken) && tearDown(c)
	}
	if c.Is(SendFailed) {
		return c.settleRest()
	}
	if !c.Is(Closing) && c.Unsent() > c.Group.Config.HighWater && !c.readsOn() {
		c.Reading.Set(Paused)
	}
	waits := c.Reading.Is(Paused) || c.functions != nil && c.functions.WantsRoom() || c.Extras != nil && len(c.Extras.notifySent) > 0
	unsent := 0
	if waits || c.passer == nil || !c.passer.Calm(c) {
		unsent = c.send(waits || c.Is(WriteClosed|Closing))
	}
	if unsent == 0 && waits { // all was sent since work looked, or is now
		c.Driver.Cx.Wake(c.Task.Waker())
	}
	// the functions of NotifySent are called first, by the next run
	if unsent == 0 && c.Is(WriteClosed|Closing) && (c.Extras == nil || len(c.Extras.notifySent) == 0) {
		c.Finish()
		if c.Extras != nil && c.Is(Finished) && !c.Is(Broken) {
			c.Extras.Clock.resetAcknowledged(c)
		}
	}
	if c.Is(Finished) && c.Reading.Is(EndSeen) && !c.ResetsAtEnd() {
		c.Set(Broken) // neither side has anything more to say
	}
	if c.Is(SendFailed) {
		return c.settleRest()
	}
	if !c.Is(Broken) {
		c.arm()
	}
	if c.Is(Broken) {
		return tearDown(c)
	}
	if watched(c) {
		c.More().watch.begin(c)
	}
	armClock(c)
	return false
}

// perform calls the function of a command.
func (c *Conn) perform(f any) {
	if own, ok := f.(func(*Conn)); ok {
		own(c)
	} else {
		c.Group.Events.Do(c, f)
	}
}
