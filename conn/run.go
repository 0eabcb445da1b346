package conn

import (
	"errors"
	"runtime/debug"
	"syscall"

	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// maxCalls is how often one run of a task calls OnData: then others have a turn.
const maxCalls = 128

// Run implements sched.Body. One run deals with the contents of the inbox, calls the handler, and
// then gives the kernel everything that follows. The run itself is here, not in a method of Conn:
// another frame would make each switch to a coroutine dearer.
func (t *connTask) Run(cx *sched.Context) (done bool) {
	c := (*Conn)(t)
	c.driver = cx.Driver().(*driver)
	c.driver.budget = maxCalls
	if c.backlog == nil {
		c.backlog = c.driver.backlogs.Get()
	}
	var n news
	c.collect(&n)
	defer c.dropNews(&n) // if a handler ends the goroutine: see Exited
	c.driver.news = len(n.chunks) > 0 || n.recvEnded
	c.inFlight = n.unsent
	if c.extras != nil && len(n.chunks) > 0 {
		c.extras.clock.Came(cx.Now()) // when it came: the tick began with that
	}
	if n.writable {
		c.clear(awaiting)
	}
	if n.readable {
		c.reading.clear(polling | stopping)
	}
	if n.hung || n.watchEnded {
		c.hearHangup(&n)
	}
	c.work(&n)
	k := c.consumer()
	for more := k.begin(); more; more = k.end() {
		k.resume()
	}
	if !c.in.Empty() || c.in.Attached() { // any method may have read it
		c.detach()
	}
	c.dropNews(&n)
	if done = c.settle(); !done {
		k.settled(c)
	}
	if c.group.bounded() {
		c.settleMemory()
	}
	c.spareBacklog(done)
	return done
}

// dropNews gives back the part of a run's news that a panic or an exit left undone.
func (c *Conn) dropNews(n *news) {
	for ; n.next < len(n.chunks); n.next++ {
		c.home.R.Release(n.chunks[n.next])
	}
	if n.recvEnded { // nothing is left to be canceled
		n.recvEnded = false
		c.reading.clear(receiving | stopping)
	}
	for n.told < len(n.commands) { // a splice has another end
		n.told++
		if cmd := &n.commands[n.told-1]; cmd.kind == cmdSplice {
			c.join(cmd.splice, 1)
		}
	}
	c.driver.Recycle(n.chunks)
	n.chunks, n.next = nil, 0
}

// spareBacklog is the end of a run: the backlog is given back if it is empty.
func (c *Conn) spareBacklog(done bool) {
	if !c.empty() {
		return
	}
	c.inFlight = 0 // collect tells
	c.driver.backlogs.Put(c.backlog)
	c.backlog = nil
	if done {
		c.backlog = &noBacklog
	}
}

// noBacklog is that of connections that have ended: a late holder of one may look at it.
var noBacklog backlog

// work calls the handler as the news demands. It changes flags and queues;
// settle draws the consequences.
func (c *Conn) work(n *news) {
	defer c.recoverPanic()
	if n.sendEnded {
		c.sendEnd(n.sendErrno)
	}
	if n.connectEnded {
		c.connectEnd(n.connectErrno)
	}
	if c.extras != nil && c.extras.race != nil {
		c.judge()
	}
	if !c.is(opened|broken) && !c.is(dialled) {
		c.set(opened)
		c.startClock()
		c.check(c.handler.OnOpen(c))
		c.readFirst()
	}
	for n.told < len(n.commands) {
		n.told++
		c.toWrite -= len(n.commands[n.told-1].data)
		c.exec(&n.commands[n.told-1])
	}
	c.consumer().hear(c)
	if c.group.bounded() && (c.reading.is(starved|unseen) || len(n.chunks) > 0 || n.readable && c.reading.is(direct) && !c.consumer().paces()) {
		c.starve()
	}
	if c.reading.is(paused) && c.Unsent() <= c.group.cfg.LowWater {
		c.reading.clear(paused)
		if !c.is(mute | closing | broken) {
			c.check(c.handler.OnWritable(c))
		}
	}
	if c.reading.is(unseen) && !c.is(closing|broken) && !c.reading.is(waiting) {
		c.offer()
	}
	if n.readable && c.reading.is(direct) && !c.is(closing|broken) && !c.reading.is(waiting|deaf|ended) {
		c.consumer().readable(c)
	}
	came := 0
	for n.next < len(n.chunks) && !c.spent() {
		n.next++
		came += len(n.chunks[n.next-1].Bytes)
		c.receive(n.chunks[n.next-1])
	}
	c.gauge(came)
	switch {
	case c.spent() && (n.next < len(n.chunks) || c.reading.is(unseen)):
		c.putBack(n)
		c.driver.Cx.Wake(c.task.Waker())
	case n.recvEnded:
		n.recvEnded = false
		c.recvEnd(n.recvErrno)
	}
	if n.overlooked && c.reading.is(receiving) && !c.is(broken) && !c.reading.is(stopping) {
		c.stopReceiving()
	}
	if c.reading.is(ended) && !c.is(closing|broken) && !c.reading.is(endSeen|unseen|held) {
		c.reading.set(endSeen)
		if !c.reading.is(deaf) {
			c.check(c.tellEOF())
		}
	}
	if c.extras != nil {
		c.hangUp()
		c.checkClock()
		if c.Unsent() == 0 && !c.is(broken) {
			c.notifySent(nil)
		}
	}
	if !c.is(drained|broken) && c.group.draining(c.is(outbound)) {
		c.drain()
	}
}

func (c *Conn) recoverPanic() {
	v := recover()
	if v == nil {
		return
	}
	err := &PanicError{Value: v, Stack: debug.Stack()}
	c.group.core.HandlerPanicked(err, c.handler, c.logAttr())
	c.detach()
	c.fail(err)
}

// spent reports whether OnData ought to be called and this run may not: it has
// done so often enough.
func (c *Conn) spent() bool {
	return c.driver.budget <= 0 && !c.is(closing|broken) && !c.reading.is(waiting)
}

// receive takes one chunk of bytes.
func (c *Conn) receive(b reactor.Buffer) {
	switch {
	case c.filter().decrypts():
		c.filter().receive(c, b)
	case c.is(closing|broken) || c.reading.is(deaf):
		c.drop(len(b.Bytes))
		c.home.R.Release(b)
	case c.reading.is(waiting):
		c.reading.set(unseen)
		c.in.Attach(&c.driver.buffers, c.releaser(), b)
		c.detach()
	default:
		c.consumer().came(c, b)
	}
}

// offer calls OnData, and again as long as it reads and MaxRead bytes are left.
// If it has to stop before, unseen says that there is something to go on with.
func (c *Conn) offer() {
	c.reading.clear(unseen)
	cfg := &c.group.cfg
	for {
		before := len(c.in.Unread)
		c.driver.budget--
		err := c.handler.OnData(c)
		c.detach()
		left := len(c.in.Unread)
		switch {
		case err != nil:
			c.check(err)
		case left >= cfg.MaxRead && left == before && !c.reading.is(held|deaf):
			c.conclude(ErrReadBufferFull)
		}
		if !c.is(closing|broken) && c.Unsent() > cfg.HighWater && !c.consumer().paces() {
			c.reading.set(paused)
		}
		if left < cfg.MaxRead || c.is(closing|broken) || c.reading.is(deaf) {
			return
		}
		if c.reading.is(waiting) || c.spent() {
			c.reading.set(unseen)
			return
		}
	}
}

func (c *Conn) recvEnd(errno syscall.Errno) {
	c.reading.clear(receiving | stopping)
	switch errno {
	case 0:
		c.reading.set(ended)
	case syscall.ECANCELED, syscall.EAGAIN, syscall.EINTR, syscall.ENOBUFS:
		// settle receives again if that is wanted
	default:
		// shaking is asked first, since making the error costs a system call.
		if f := c.filter(); f.shaking() && f.outlives(c.sysError("read", "recv", errno)) {
			c.reading.set(ended | endSeen)
			return
		}
		if (c.reading.is(unseen) || c.in.Attached()) && !c.is(closing|broken) && !c.reading.is(held) {
			c.offer() // bytes that arrived before the error are not lost with it
		}
		if c.is(closing) && c.is(finished) { // we had said goodbye already
			c.set(broken)
			return
		}
		if errors.Is(c.cause(), syscall.EPIPE) {
			// the send got only a general error because the reason had gone to this receive
			c.extras.cause = nil
		}
		if errno == syscall.ENOMEM { // bytes may be lost, and a FIN would hide that from the peer
			c.set(reset)
		}
		c.fail(c.sysError("read", "recv", errno))
	}
}

// sendEnd deals with a send that ended before all was sent.
func (c *Conn) sendEnd(errno syscall.Errno) {
	switch errno {
	case 0, syscall.EAGAIN, syscall.EINTR, syscall.ENOBUFS:
		if !c.is(broken) {
			c.resend()
			return
		}
	case syscall.ECANCELED:
	default:
		c.failWrite(c.sysError("write", "send", errno))
	}
	c.set(reset) // the rest of the flight is not sent
	c.mu.Lock()
	c.driver.buffers.Put(c.inbox.flight)
	c.inbox.flight, c.inbox.sent, c.inFlight = nil, 0, 0
	c.inbox.right.GiveUp(0, 0)
	c.mu.Unlock()
}

func (c *Conn) exec(cmd *command) {
	switch {
	case !c.is(broken) && c.filter().hold(cmd):
		return
	case cmd.kind == cmdSplice: // in any state: the other end must learn of it
		c.join(cmd.splice, 1)
		return
	case c.is(broken):
		return
	}
	switch cmd.kind {
	case cmdRaw:
		if !c.is(closing) {
			enqueue(c, cmd.data)
		}
	case cmdInner:
		cmd.do(c)
		c.detach()
	case cmdSend:
		switch {
		case c.is(mute|closing) || c.filter().lent() || len(cmd.data) == 0:
		case c.is(overdue): // a later deadline would make a hole of it
			c.stuck()
		default:
			enqueue(c, cmd.data)
		}
	case cmdPut:
		c.takeOver(cmd.data)
	case cmdDo:
		if cmd.counted {
			c.mu.Lock()
			c.inbox.calls--
			c.mu.Unlock()
		}
		cmd.do(c)
		c.detach()
	case cmdClose:
		if !c.is(closing) {
			_ = c.Close()
		}
	case cmdAbort:
		c.Abort()
	case cmdShed:
		c.failWrite(c.opError("write", ErrShed))
	case cmdDrain:
		c.drain()
	case cmdStage:
		c.stageBegins()
	}
}

// settle gives the kernel the results of a run, and reports whether the connection is over.
func (c *Conn) settle() (done bool) {
	if c.is(broken) {
		return c.tearDown()
	}
	if !c.is(opened) {
		c.connect()
		c.armClock()
		return c.is(broken) && c.tearDown()
	}
	k := c.consumer()
	if !c.is(closing) && c.Unsent() > c.group.cfg.HighWater && !k.paces() {
		c.reading.set(paused)
	}
	waits := c.reading.is(paused) || k.wantsRoom() || c.extras != nil && len(c.extras.notifySent) > 0
	unsent := 0
	if waits || !k.calm(c) {
		unsent = c.send(waits || c.is(mute|closing))
	}
	if unsent == 0 && waits { // all was sent since work looked, or is now
		c.driver.Cx.Wake(c.task.Waker())
	}
	if unsent == 0 && c.is(mute|closing) {
		c.finish()
		if c.flooded() && c.is(finished) && !c.is(broken) {
			c.endFlood()
		}
	}
	if c.is(finished) && c.reading.is(endSeen) {
		c.set(broken) // neither side has anything more to say
	}
	if c.is(closing) || c.reading.is(deaf|ended) {
		// input is not for the handler any more, and the reactor drops it until the end
		c.reading.clear(direct)
	} else if c.frugal() {
		c.reading.set(direct)
	}
	switch {
	case c.is(broken):
		return c.tearDown()
	case c.reading.is(receiving):
		switch {
		case c.reading.is(stopping):
		case c.reading.is(waiting) && c.reading.is(unseen) || c.reading.is(direct):
			c.stopReceiving()
		}
	case c.reading.is(polling):
		if !c.reading.is(direct) && !c.reading.is(stopping) {
			c.stopReceiving()
		}
	case !c.reading.is(ended | waiting):
		// The chunks of the receive before came with its end or earlier. All of them have been
		// dealt with, because work puts the end back with those it leaves. So none is left of the
		// memory at home, and this receive may go to another reactor.
		c.home = c.driver.Via(c.home)
		c.listen()
		if c.is(broken) {
			c.reading.clear(receiving | polling)
			return c.tearDown()
		}
	}
	c.watch()
	c.armClock()
	return false
}
