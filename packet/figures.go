package packet

import (
	"net"

	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/reactor"
)

// countSent counts the datagrams of a batch that was sent. sendFailed counts those that have
// failed.
func countSent(p *engine.OriginPart, b *reactor.Batch) {
	datagrams, bytes := 0, b.Size()
	for i := range b.Len() {
		datagrams += segments(b, i)
	}
	for _, f := range b.Failed {
		n, size := lost(b, f)
		datagrams -= n
		bytes -= size
	}
	p.Out.Add(uint64(datagrams))
	p.Sent.Add(uint64(bytes))
}

// lost returns the number of datagrams that a failure has cost, and their bytes.
func lost(b *reactor.Batch, f reactor.Failure) (datagrams, bytes int) {
	all := len(b.Payload(f.Index))
	if f.Segment == 0 {
		return segments(b, f.Index), all
	}
	size := b.Segment(f.Index)
	return 1, min(size, all-(f.Segment-1)*size)
}

// segments is the number of datagrams in an item of a batch.
func segments(b *reactor.Batch, index int) int {
	size := b.Segment(index)
	if size <= 0 {
		return 1
	}
	return (len(b.Payload(index)) + size - 1) / size
}

// originOf is the origin of a socket of tasks and goroutines.
func originOf(g *engine.Group, local net.Addr, dialed bool) *engine.Origin {
	if dialed || local == nil {
		return g.DialOrigin(engine.Datagrams)
	}
	return g.Origin(engine.Datagrams, local)
}

// countIn counts datagrams that a task or a goroutine has received.
func (s *caller) countIn(datagrams, bytes int) { //nolint:unparam // RecvBatch counts a batch at once
	s.from.Outside.In.Add(uint64(datagrams))
	s.from.Outside.Received.Add(uint64(bytes))
}

// countOut counts a datagram that a task or a goroutine has sent.
func (s *caller) countOut(bytes int) {
	s.from.Outside.Out.Add(1)
	s.from.Outside.Sent.Add(uint64(bytes))
}
