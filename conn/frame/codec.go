package frame

// DefaultMax is the longest frame of a codec whose Max is 0, in bytes on the
// wire: what a connection buffers if nothing else is configured.
const DefaultMax = 1 << 20

// A Decoder finds the frame at the front of a byte stream.
//
// A decoder may remember how far it has searched: it belongs to one stream, and
// its methods are called by one goroutine at a time, unless it says otherwise.
type Decoder interface {
	// Decode looks for a frame at the front of b, which is all that has
	// arrived and was not consumed. The error says which of three it is.
	//
	// nil: the frame is found, and takes the first n bytes of b, 1 or more.
	// The next call is given the bytes behind them.
	//
	// ErrIncomplete: b is a beginning of a frame, or empty. The frame takes n
	// bytes or more, n > len(b): with fewer there is nothing to gain but an
	// early error. The next call is given these bytes again and more behind
	// them.
	//
	// Any other: b can never begin with a frame. n is 0, and another call with
	// the same or more gives the same error.
	Decode(b []byte) (frame []byte, n int, err error)
}

// An EOFDecoder has its own idea of a stream that ends within a frame; for
// others that is io.ErrUnexpectedEOF.
type EOFDecoder interface {
	Decoder

	// DecodeEOF is given the 1 or more bytes for which Decode has returned
	// ErrIncomplete and which are the last. Its results are those of Decode,
	// without ErrIncomplete.
	DecodeEOF(b []byte) (frame []byte, n int, err error)
}

// An Encoder puts frames on a byte stream.
type Encoder interface {
	// Append appends payload as one frame. With an error dst is returned as it
	// was. payload must not overlap with the room behind dst.
	Append(dst, payload []byte) ([]byte, error)
}

// A Codec does both.
type Codec interface {
	Decoder
	Encoder
}

// A DecoderFunc is a Decoder without state.
type DecoderFunc func(b []byte) (frame []byte, n int, err error)

// Decode implements Decoder.
func (f DecoderFunc) Decode(b []byte) (frame []byte, n int, err error) { return f(b) }

var (
	_ Codec      = (*Length)(nil)
	_ Codec      = (*Line)(nil)
	_ Codec      = (*Delimiter)(nil)
	_ EOFDecoder = (*Line)(nil)
	_ EOFDecoder = (*Delimiter)(nil)
)

// limitOf is the effective Max of a codec.
func limitOf(limit int) int {
	switch {
	case limit < 0:
		panic("frame: Max is negative")
	case limit == 0:
		return DefaultMax
	}
	return limit
}
