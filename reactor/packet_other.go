//go:build !unix

package reactor

// No backend here receives datagrams yet, and so none makes such buffers.

func parsePacket(p []byte) Packet { return Packet{Payload: p} }

const haveSegments = false

type rawBatch struct{}

func (*rawBatch) reset() {}
