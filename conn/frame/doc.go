// Package frame cuts a byte stream into frames, and puts frames on one. It is
// pure: no I/O, no goroutine, no lock. Bytes go in, sub-slices of them come out.
//
// # Decoding
//
// A [Decoder] is given all that has arrived and was not consumed. It answers
// with the frame at the front, or with how many bytes it has to see before it
// can say more. [Length], [Line] and [Delimiter] are the usual framings; any
// type with a Decode method is one's own.
//
// [All] goes over what a connection has buffered:
//
//	func (h *handler) OnData(c *conn.Conn) error {
//		for f, err := range frame.All(c, c.Value().(*frame.Line)) {
//			if err != nil {
//				return err
//			}
//			h.serve(c, f)
//		}
//		return nil
//	}
//
// The bytes of an unfinished frame stay buffered in the connection, which calls
// OnData again when more arrive. No byte is copied here: a frame is
// valid as long as the slice it was cut from, for a connection until the
// handler's method returns.
//
// # Encoding
//
// An [Encoder] appends a frame to a buffer, and refuses a payload that its
// Decoder would not give back.
//
// # Limits
//
// Every codec has a limit, Max: the length of a frame on the wire, with its
// header or its end. It can be compared with the most that a connection buffers
// (conn.Config.MaxRead). A frame of Max bytes is
// fine; the first byte that shows that it will be longer is an error.
//
// # Errors
//
// After an error other than [ErrIncomplete] nothing of the offending frame is
// consumed: the stream's position is its first byte, and decoding again gives
// the same error. As framing is lost then, the usual answer is to close the
// connection.
package frame
