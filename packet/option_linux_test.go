package packet_test

import (
	"encoding/binary"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// control is a control message in the form of the system.
func control(level, kind int32, data []byte) []byte {
	b := make([]byte, unix.CmsgSpace(len(data)))
	h := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
	h.Level, h.Type = level, kind
	h.SetLen(unix.CmsgLen(len(data)))
	copy(b[unix.CmsgLen(0):], data)
	return b
}

// segments is the control message that makes the kernel send a write as several datagrams of that
// length.
func segments(length int) []byte {
	return control(unix.SOL_UDP, unix.UDP_SEGMENT, binary.NativeEndian.AppendUint16(nil, uint16(length)))
}

func option(t *testing.T, s syscall.Conn, level, name int) (value int) {
	t.Helper()
	require.NoError(t, rawOf(t, s).Control(func(fd uintptr) {
		var err error
		value, err = unix.GetsockoptInt(int(fd), level, name)
		require.NoError(t, err)
	}))
	return value
}

func setOption(t *testing.T, s syscall.Conn, level, name, value int) {
	t.Helper()
	require.NoError(t, rawOf(t, s).Control(func(fd uintptr) {
		require.NoError(t, unix.SetsockoptInt(int(fd), level, name, value))
	}))
}
