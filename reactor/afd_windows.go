package reactor

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// An afd queries the readiness of a socket from the driver behind Winsock, as WSAPoll does, but
// through a completion port: the answer to a request is a packet. The request is not documented,
// but libuv, mio and wepoll rely on it too. It is made on a handle of the driver, not on the
// socket, so that it also works for sockets that belong to another completion port.
type afd struct{ handle windows.Handle }

const (
	afdReceive     = 0x01
	afdExpedited   = 0x02
	afdSend        = 0x04
	afdDisconnect  = 0x08
	afdAbort       = 0x10
	afdLocalClose  = 0x20
	afdAccept      = 0x80
	afdConnectFail = 0x100

	// Events of either direction.
	afdIn  = afdReceive | afdExpedited | afdDisconnect | afdAbort | afdLocalClose | afdAccept
	afdOut = afdSend | afdAbort | afdLocalClose | afdConnectFail
)

// An afdPoll is AFD_POLL_INFO for one socket. It holds the request and the answer.
type afdPoll struct {
	timeout   int64
	count     uint32
	exclusive uint32
	socket    windows.Handle
	events    uint32
	status    windows.NTStatus
}

var procNtDeviceIoControlFile = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtDeviceIoControlFile")

func openAFD(port windows.Handle) (a afd, err error) {
	name, err := windows.NewNTUnicodeString(`\Device\Afd\Suiro`) // any name may follow Afd
	if err != nil {
		return a, err
	}
	at := windows.OBJECT_ATTRIBUTES{ObjectName: name}
	at.Length = uint32(unsafe.Sizeof(at))
	var iosb windows.IO_STATUS_BLOCK
	err = windows.NtCreateFile(&a.handle, windows.SYNCHRONIZE, &at, &iosb, nil, 0,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE, windows.FILE_OPEN, 0, 0, 0)
	if err != nil {
		return afd{}, os.NewSyscallError(`NtCreateFile \Device\Afd`, err)
	}
	if _, err = windows.CreateIoCompletionPort(a.handle, port, 0, 0); err != nil {
		a.close()
		return afd{}, os.NewSyscallError("CreateIoCompletionPort", err)
	}
	return a, nil
}

// ask requests a packet for the time when one of the events has occurred, even if it has occurred
// before. It returns false if there will be no packet.
func (a afd) ask(q *pollRequest, events uint32) bool {
	q.poll = afdPoll{timeout: 1<<63 - 1, count: 1, socket: q.sock.base, events: events}
	q.ov = windows.Overlapped{Internal: uintptr(windows.STATUS_PENDING)}
	const ioctlAFDPoll = 0x12024
	p := uintptr(unsafe.Pointer(&q.poll))
	status, _, _ := syscall.SyscallN(procNtDeviceIoControlFile.Addr(), uintptr(a.handle), 0, 0, uintptr(unsafe.Pointer(&q.ov)), uintptr(unsafe.Pointer(&q.ov)),
		ioctlAFDPoll, p, unsafe.Sizeof(q.poll), p, unsafe.Sizeof(q.poll))
	return statusErrno(windows.NTStatus(status)) == 0
}

func (a afd) cancel(q *pollRequest) { _ = windows.CancelIoEx(a.handle, &q.ov) }

func (a afd) close() { _ = windows.CloseHandle(a.handle) }
