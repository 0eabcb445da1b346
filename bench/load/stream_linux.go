package load

import (
	"errors"
	"fmt"
	"runtime"
	"time"
)

// batch is how many bytes of messages leave at once at most, unless one has more.
const batch = 64 << 10

// longestSpin is how long an open loop polls before it waits: a wake-up takes longer than a message
// does, and a wait that times out is late by the timer's slack.
const longestSpin = 5 * time.Millisecond

// A client is one connection that sends messages and checks the answers.
type client struct {
	wire     wire
	fd       int
	first    int // number of its first message, so that connections differ
	allowed  int // messages that it may have sent
	sent     int // messages sent whole
	offset   int // bytes sent of the next one
	answered int // answers received whole
	answer   answer
	sentAt   time.Duration // of a closed loop: when the last batch began to leave
	slow     bool          // it is a closed loop of marked messages
	writable bool
	readable bool
	unsent   bool // its wire has taken what it has not sent
	ended    bool // the server has ended it: an end or an error is behind the unread bytes

	// With an origin: how long the proxy had its message on the way there, when that was sent back,
	// and whether it is the only one under way.
	inProxy  time.Duration
	turnedAt time.Duration
	alone    bool
}

// A stream is the state of a run of Echo, HTTP, Redis or Chunks.
type stream struct {
	pace     pace
	dialect  dialect
	marked   dialect // of messages that begin with Mark
	slow     int     // of the clients, the first
	oneOf    int     // messages of the others, one is marked; 0: none
	clients  []client
	poll     *poller
	in, out  []byte
	spins    bool
	messages int64 // of those that are not slow
	slowly   int64
	bytes    int64
	latency  histogram
	late     histogram
	series   series // of an open loop

	origin  *origin // nil: the fields below are unused
	size    int     // of a message
	stamps  stampClock
	greeted int // the client whose first message is under way
	passage histogram
}

// Echo measures messages that an echo server sends back.
func Echo(cfg Config) (Result, error) {
	p := newPayload(cfg.Size)
	return run(cfg, parrot{p, p}, slowpoke(p.marked()))
}

// Chunks requests mebibytes: the server answers each byte with Chunker.Chunk of that byte.
// Config.Size is ignored.
func Chunks(cfg Config) (Result, error) { return run(cfg, chunks(), nil) }

func chunks() dialect {
	requests := make(payload, 1+variants)
	for i := range requests {
		requests[i] = byte(i)
	}
	return parrot{requests, newPayload(ChunkSize)}
}

// HTTP measures requests. A server answers Config.Request, all of it, with a status of 200 and
// Config.Reply as the body.
func HTTP(cfg Config) (Result, error) {
	return run(cfg, &web{ask: []byte(cfg.Request), body: []byte(cfg.Reply)}, nil)
}

func run(cfg Config, d, marked dialect) (Result, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if cfg.Origin > 0 && (cfg.Rate == 0 || cfg.TLS || marked == nil) {
		return Result{}, fmt.Errorf("load: an origin is for Echo in an open loop without TLS: %w", errors.ErrUnsupported)
	}
	if cfg.Slow < 0 || cfg.Slow > cfg.Conns || cfg.Slow > 0 && marked == nil || cfg.Slow == cfg.Conns && cfg.Rate > 0 {
		return Result{}, fmt.Errorf("load: %d slow connections of %d: only Echo has some, and an open loop needs others", cfg.Slow, cfg.Conns)
	}
	if cfg.Marked < 0 || cfg.Marked > 0 && (marked == nil || cfg.Rate == 0) {
		return Result{}, fmt.Errorf("load: one of %d messages marked: that is for Echo in an open loop", cfg.Marked)
	}
	s := &stream{dialect: d, marked: marked, slow: cfg.Slow, spins: cfg.Spin, size: cfg.Size,
		in: make([]byte, 256<<10), latency: newHistogram(), late: newHistogram(), passage: newHistogram()}
	defer s.close()
	var err error
	if s.poll, err = newPoller(); err != nil {
		return Result{}, err
	}
	if cfg.Origin > 0 {
		if s.origin, err = newOrigin(cfg.Origin, s.poll); err != nil {
			return Result{}, err
		}
	}
	for i := range cfg.Conns {
		if err := s.connect(cfg, i); err != nil {
			return Result{}, fmt.Errorf("load: connection %d: %w", i, err)
		}
	}
	if cfg.Rate > 0 {
		if err := s.greet(); err != nil {
			return Result{}, err
		}
	}
	s.oneOf = cfg.Marked // from now on: the greetings are not marked
	got, err := raisePriority(cfg.Priority)
	if err != nil {
		return Result{}, err
	}
	s.pace = newPace(cfg)
	for i := range s.clients {
		if c := &s.clients[i]; c.slow || !s.pace.open() {
			s.allow(c)
			if err := s.send(c); err != nil { // if it knows that it can: else the poller has an edge for it
				return Result{}, fmt.Errorf("load: connection %d: %w", i, err)
			}
		}
	}
	r, err := measure(cfg, s)
	r.Latency, r.Late, r.Passage, r.Got = s.latency.latencies(), s.late.latencies(), s.passage.latencies(), got
	if s.pace.open() {
		r.Latency.Counts, r.Passage.Counts, r.Slices = s.latency.counts(), s.passage.counts(), s.series.p99s()
		if r.Count = r.Latency.Count; r.Count > 0 && errors.Is(err, ErrNothing) {
			err = nil // later messages have their latency
		}
	}
	return r, err
}

func (s *stream) connect(cfg Config, i int) error {
	fd, err := connect(cfg.Addr, i)
	if err != nil {
		return err
	}
	s.clients = append(s.clients, client{fd: fd, wire: tcpWire(fd), first: i, slow: i < cfg.Slow})
	if s.origin != nil {
		if s.clients[i].wire, err = s.stamps.wire(fd); err != nil {
			return err
		}
		if err := s.acceptBehind(); err != nil { // before they are too many for the backlog
			return err
		}
	}
	if cfg.TLS {
		if s.clients[i].wire, err = handshake(fd); err != nil {
			return err
		}
	}
	return s.poll.add(fd, i)
}

func (s *stream) close() {
	for i := range s.clients {
		closeAndForget(s.clients[i].fd)
	}
	if s.origin != nil {
		s.origin.close()
	}
	if s.poll != nil {
		s.poll.close()
	}
}

func (s *stream) open() int {
	n := s.pace.owed()
	for i := range s.clients {
		n += s.clients[i].allowed - s.clients[i].answered
	}
	return n
}

func (s *stream) window(d time.Duration) {
	if s.pace.open() {
		s.series = newSeries(d, s.pace.gap)
	}
	s.pace.window(d)
}

func (s *stream) stop() { s.pace.stop() }

func (s *stream) progress() (count, slow, bytes int64) { return s.messages, s.slowly, s.bytes }

func (s *stream) turn() error {
	wait := longestWait
	if s.pace.open() {
		var err error
		if wait, err = s.begin(); err != nil {
			return err
		}
		if s.spins && wait < longestSpin {
			wait = 0
		}
	}
	events, err := s.poll.wait(wait)
	if err != nil {
		return err
	}
	for i := range events {
		if events[i].Fd < 0 {
			if err := s.serveBehind(events[i]); err != nil {
				return fmt.Errorf("load: the origin: %w", err)
			}
			continue
		}
		c := &s.clients[events[i].Fd]
		c.readable = c.readable || events[i].Events&^outEvents != 0
		c.ended = c.ended || events[i].Events&endEvents != 0
		c.writable = c.writable || events[i].Events&outEvents != 0
		if err := s.serve(c); err != nil {
			return fmt.Errorf("load: connection %d, message %d: %w", events[i].Fd, c.answered, err)
		}
		if s.pace.open() {
			if _, err := s.begin(); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin sends the messages that are due, and returns the time until the next one is due. The
// clients that are not slow take turns.
func (s *stream) begin() (time.Duration, error) {
	for {
		number, wait, ok := s.pace.next(s.pace.now())
		if !ok {
			return wait, nil
		}
		c := &s.clients[s.slow+number%(len(s.clients)-s.slow)]
		c.allowed++
		if err := s.send(c); err != nil {
			return 0, fmt.Errorf("load: connection %d, message %d: %w", c.first, c.sent, err)
		}
	}
}

// intended is when the client's message with that number was to be sent.
func (s *stream) intended(c *client, number int) time.Duration {
	if s.pace.open() && !c.slow {
		return s.pace.at(s.place(c, number))
	}
	return c.sentAt
}

// place is a message's number among those of all clients that are not slow.
func (s *stream) place(c *client, number int) int {
	return number*(len(s.clients)-s.slow) + c.first - s.slow
}

// allow lets a closed loop's client send its next batch, when the last one is back.
func (s *stream) allow(c *client) {
	depth := s.pace.depth
	if c.slow {
		depth = min(depth, 1)
	}
	c.allowed = c.answered + depth
}

// serve sends and receives until neither can go on. Reading first lets an answer make room for the
// next message.
func (s *stream) serve(c *client) error {
	for {
		if c.readable {
			n, more, err := c.wire.read(s.in, c.ended)
			if err != nil {
				return err
			}
			c.readable = more
			if err := s.check(c, s.in[:n]); err != nil {
				return err
			}
		}
		if err := s.send(c); err != nil {
			return err
		}
		if !c.readable {
			return nil
		}
	}
}

func (s *stream) send(c *client) error {
	if c.unsent && c.writable {
		gone, err := c.wire.flush()
		if err != nil {
			return err
		}
		c.unsent, c.writable = !gone, gone
	}
	for c.writable && c.sent < c.allowed {
		out := s.gather(c)
		now := s.pace.now()
		if c.offset == 0 {
			c.sentAt, c.alone = now, c.sent == c.answered
			if intended := s.intended(c, c.sent); s.pace.open() && !c.slow && s.pace.measured(intended, now) {
				s.late.record(now - intended)
			}
		}
		n, err := c.wire.write(out)
		if err != nil {
			return err
		}
		c.writable = n == len(out)
		s.advance(c, n)
		gone, err := c.wire.flush()
		if err != nil {
			return err
		}
		c.unsent, c.writable = !gone, c.writable && gone
	}
	return nil
}

// gather is what the client is to send next: the rest of a message and those that may leave with
// it.
func (s *stream) gather(c *client) []byte {
	one := s.speaks(c, c.sent).request(c.first + c.sent)[c.offset:]
	if c.sent+1 == c.allowed || len(one) >= batch {
		return one
	}
	s.out = append(s.out[:0], one...)
	for number := c.sent + 1; number < c.allowed && len(s.out) < batch; number++ {
		s.out = append(s.out, s.speaks(c, number).request(c.first+number)...)
	}
	return s.out
}

// advance notes that n bytes have left.
func (s *stream) advance(c *client, n int) {
	for n > 0 {
		rest := len(s.speaks(c, c.sent).request(c.first+c.sent)) - c.offset
		if n < rest {
			c.offset += n
			return
		}
		n -= rest
		c.sent, c.offset = c.sent+1, 0
	}
}

// check compares received bytes with the expected ones.
func (s *stream) check(c *client, got []byte) error {
	s.bytes += int64(len(got))
	for len(got) > 0 {
		if c.answered > c.sent || c.answered == c.sent && c.offset == 0 {
			return fmt.Errorf("%d bytes more came back than were asked for", len(got))
		}
		used, whole, err := s.speaks(c, c.answered).accept(&c.answer, c.first+c.answered, got)
		if err != nil {
			return err
		}
		got = got[used:]
		if whole {
			s.count(c)
		}
	}
	return nil
}

// count notes that a message has come back.
func (s *stream) count(c *client) {
	now, intended := s.pace.now(), s.intended(c, c.answered)
	if s.origin != nil {
		now = s.stamps.arrived.Sub(s.pace.began)
	}
	marked := s.isMarked(c, c.answered)
	c.answered++
	if marked {
		s.slowly++
	} else {
		s.messages++
		if s.pace.measured(intended, now) {
			s.latency.record(now - intended)
			s.series.note(intended-s.pace.from, now-intended)
			if s.origin != nil {
				s.passage.record(c.passage(now, now-intended))
			}
		}
	}
	if (c.slow || !s.pace.open()) && c.answered == c.allowed {
		s.allow(c)
	}
}
