package natscluster

import (
	"bytes"

	"github.com/fxamacker/cbor/v2"
)

// A Codec encodes messages. All nodes of a cluster use the same one. Any goroutine may call it. A
// panic of Append is one of the Send or the Reply that encodes. A panic of Decode is logged, and
// the message is dropped; a call gets an error.
type Codec interface {
	// Append appends the encoded value.
	Append(b []byte, value any) ([]byte, error)

	// Decode decodes into a pointer. It must not keep data.
	Decode(data []byte, into any) error
}

// CBOR is the default Codec: CBOR (RFC 8949) by fxamacker/cbor. It encodes exported fields, and
// values that implement encoding.BinaryMarshaler, such as process.PID.
var CBOR Codec = cborCodec{}

type cborCodec struct{}

var cborEncoder = func() cbor.UserBufferEncMode {
	mode, err := cbor.EncOptions{}.UserBufferEncMode()
	if err != nil {
		panic(err) // options are constant
	}
	return mode
}()

func (cborCodec) Append(b []byte, value any) ([]byte, error) {
	buf := bytes.NewBuffer(b)
	err := cborEncoder.MarshalToBuffer(value, buf)
	return buf.Bytes(), err
}

func (cborCodec) Decode(data []byte, into any) error { return cbor.Unmarshal(data, into) }
