package proxyproto

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

const (
	tlvHeader   = 3
	maxUniqueID = 128
)

var (
	errCRCs      = errors.New("more than one CRC32C")
	errTLVLength = errors.New("values that do not fill the header, or one of a length that its type does not have")
)

// checkTLVs checks values that take size bytes. b has the first of them;
// nested ones are those of an SSL value. It returns the place of the checksum,
// or -1; and with an error other than ErrIncomplete the place of the first byte
// that shows it, or -1 if that comes before b.
func checkTLVs(b []byte, size int, nested bool) (sum, at int, err error) {
	sum = -1
	if size > 0 && size < tlvHeader {
		return sum, -1, errTLVLength
	}
	for at < size {
		head := b[min(at, len(b)):min(at+tlvHeader, len(b))]
		for i := range head {
			if !nested && sum >= 0 && Type(head[0]) == TypeCRC32C {
				return sum, at, errCRCs
			}
			if !possible(head[:i+1], size-at-tlvHeader, nested) {
				return sum, at + i, errTLVLength
			}
		}
		if len(head) < tlvHeader {
			return sum, at, ErrIncomplete
		}
		typ, length := Type(head[0]), int(binary.BigEndian.Uint16(head[1:]))
		at += tlvHeader
		if typ == TypeCRC32C && !nested {
			sum = at
		}
		if inner := b[at:min(at+length, len(b))]; typ == TypeSSL && !nested && len(inner) > sslFixed {
			_, n, err := checkTLVs(inner[sslFixed:], length-sslFixed, true)
			if err != nil && err != ErrIncomplete {
				return sum, at + sslFixed + n, err
			}
		}
		at += length
	}
	if len(b) < size {
		err = ErrIncomplete
	}
	return sum, at, err
}

// possible reports whether a value that begins with the 1 to 3 bytes of head fits into room bytes.
// Its length must suit its type, and must leave no bytes or enough for another value.
func possible(head []byte, room int, nested bool) bool {
	least, most := 0, 1<<16-1
	if len(head) > 1 {
		least = int(head[1]) << 8
		most = least | 0xff
	}
	if len(head) > 2 {
		least |= int(head[2])
		most = least
	}
	if !nested {
		switch Type(head[0]) {
		case TypeCRC32C:
			least, most = max(least, 4), min(most, 4)
		case TypeUniqueID:
			most = min(most, maxUniqueID)
		case TypeSSL:
			// 6 or 7 bytes would leave 1 or 2 for the values in it.
			if most == 6 || most == 7 || room == 6 || room == 7 {
				return false
			}
			least = max(least, sslFixed)
		}
	}
	return least <= most && least <= room && (most >= room || least <= room-tlvHeader)
}

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	zeros      [4]byte // never written; a local one would go to the heap
)

// checksum is that of a header whose checksum, at at, is taken to be zero.
func checksum(header []byte, at int) uint32 {
	sum := crc32.Update(0, castagnoli, header[:at])
	sum = crc32.Update(sum, castagnoli, zeros[:])
	return crc32.Update(sum, castagnoli, header[at+len(zeros):])
}
