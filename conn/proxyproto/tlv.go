package proxyproto

import (
	"encoding/binary"
	"iter"
)

// A Type is that of a value in a header of version 2.
type Type uint8

// The registered types. 0xE0 to 0xEF are for applications, 0xF0 to 0xF7 for
// experiments.
const (
	TypeALPN      Type = 0x01 // the application protocol, as in RFC 7301
	TypeAuthority Type = 0x02 // the host name the client has asked for (SNI), UTF-8
	TypeCRC32C    Type = 0x03 // of the header; checked by Parse, set by AppendV2
	TypeNoop      Type = 0x04 // padding
	TypeUniqueID  Type = 0x05 // of the connection, up to 128 bytes
	TypeSSL       Type = 0x20 // see SSL
	TypeNetNS     Type = 0x30 // the name of the network namespace, ASCII
)

// TLVs are values with a type each, as they are on the wire.
type TLVs []byte

// All is an iterator over the values, which are parts of t. It ends before one
// that is cut off; those of a parsed header are whole.
func (t TLVs) All() iter.Seq2[Type, []byte] {
	return func(yield func(Type, []byte) bool) {
		for rest := t; len(rest) >= tlvHeader; {
			end := tlvHeader + int(binary.BigEndian.Uint16(rest[1:]))
			if end > len(rest) || !yield(Type(rest[0]), rest[tlvHeader:end:end]) {
				return
			}
			rest = rest[end:]
		}
	}
}

// Get is the first value of a type, a part of t, and whether there is one.
func (t TLVs) Get(typ Type) (value []byte, ok bool) {
	for t, v := range t.All() {
		if t == typ {
			return v, true
		}
	}
	return nil, false
}

// AppendTLV appends a value, of at most 65,535 bytes: longer ones panic.
func AppendTLV[T string | []byte](t TLVs, typ Type, value T) TLVs {
	if len(value) > 1<<16-1 {
		panic("proxyproto: a value of more than 65535 bytes")
	}
	t = append(t, byte(typ), byte(len(value)>>8), byte(len(value)))
	return append(t, value...)
}

// AppendCRC32C appends the value for which AppendV2 computes a checksum of the header.
func AppendCRC32C(t TLVs) TLVs { return AppendTLV(t, TypeCRC32C, "\x00\x00\x00\x00") }
