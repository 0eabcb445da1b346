//go:build kqueue

package kevent

// An Event is struct kevent.
type Event struct {
	Ident  uint64
	Filter int16
	Flags  uint16
	Fflags uint32
	Data   int64
	Udata  uintptr
}

// The filters, and the flags, with FreeBSD's numbers.
const (
	EVFILT_READ  = -1
	EVFILT_WRITE = -2
	EVFILT_TIMER = -7 // of a change: milliseconds; of an event: the number of expirations
	EVFILT_USER  = -11

	EV_ADD      = 0x0001
	EV_DELETE   = 0x0002
	EV_ENABLE   = 0x0004
	EV_DISABLE  = 0x0008
	EV_ONESHOT  = 0x0010
	EV_CLEAR    = 0x0020
	EV_RECEIPT  = 0x0040
	EV_DISPATCH = 0x0080
	EV_ERROR    = 0x4000
	EV_EOF      = 0x8000

	NOTE_TRIGGER  = 0x01000000 // EVFILT_USER: trigger the event
	NOTE_FFCOPY   = 0xc0000000 // keep the change's other fflags for the event
	NOTE_FFLAGMSK = 0x00ffffff
)
