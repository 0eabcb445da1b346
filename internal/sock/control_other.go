//go:build !linux

package sock

// CutSegment returns the control messages: the kernel joins no datagrams here.
func CutSegment(control []byte) (others []byte, segment int) { return control, 0 }
