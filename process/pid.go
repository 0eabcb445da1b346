package process

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A PID is the address of a process. It may be copied, compared and kept. Once its process has
// ended it reaches nobody, never a later process. The zero value is the address of no process.
type PID struct {
	id   uint64 // the generation in the upper half, from 1; the slot of the table in the lower one
	node uint64
}

// IsZero reports whether the PID is the zero value.
func (p PID) IsZero() bool { return p.id == 0 }

// Node is Config.Node of the process's system.
func (p PID) Node() uint64 { return p.node }

// String formats the PID as <slot.generation>, or <slot.generation@node> with a node in hexadecimal
// digits unless it is 0.
func (p PID) String() string {
	if p.node == 0 {
		return fmt.Sprintf("<%d.%d>", p.slot(), p.generation())
	}
	return fmt.Sprintf("<%d.%d@%x>", p.slot(), p.generation(), p.node)
}

// encodedPID is the length of an encoded PID in bytes.
const encodedPID = 16

// AppendBinary implements encoding.BinaryAppender. It appends 16 bytes, and returns no error.
func (p PID) AppendBinary(b []byte) ([]byte, error) {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, p.node), p.id), nil
}

// MarshalBinary implements encoding.BinaryMarshaler, as AppendBinary does.
func (p PID) MarshalBinary() ([]byte, error) { return p.AppendBinary(make([]byte, 0, encodedPID)) }

// UnmarshalBinary implements encoding.BinaryUnmarshaler. It is an error if there are not 16 bytes.
func (p *PID) UnmarshalBinary(b []byte) error {
	if len(b) != encodedPID {
		return errors.New("process: an encoded PID has 16 bytes")
	}
	p.node, p.id = binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])
	return nil
}

func (p PID) slot() uint32       { return uint32(p.id) }
func (p PID) generation() uint32 { return uint32(p.id >> 32) }

func pidOf(node uint64, slot, generation uint32) PID {
	return PID{uint64(generation)<<32 | uint64(slot), node}
}
