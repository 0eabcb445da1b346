package packet

import (
	"sync"
	"syscall"
	"unsafe"

	"github.com/suiro-go/suiro/reactor"
)

const (
	mostArrivals   = 8
	arrivalSize    = 1536     // few datagrams are longer than a packet of Ethernet
	longestArrival = 64 << 10 // joined datagrams may be that long
	arrivalControl = 256      // on 64-bit systems packet info takes 40, most other messages 24
)

// An arrivalRoom has memory for the messages of one receive. Only sockets with arrivals hold one.
// It has the beginnings of the messages. The rest of a long message is in a longRest.
type arrivalRoom struct {
	calls   reactor.Messages
	control [mostArrivals][arrivalControl / 8]uint64 // aligned
	data    [mostArrivals][arrivalSize]byte
	rests   [mostArrivals]*longRest // nil: the message is not long
}

type longRest [longestArrival]byte

// longRests are for the receives of one call. Each call needs room for eight long messages, and
// uses little of it. So a room takes only the used parts.
type longRests [mostArrivals]*longRest

var (
	arrivalRooms = sync.Pool{New: func() any { return new(arrivalRoom) }}
	spareRests   = sync.Pool{New: func() any { return new(longRest) }}
	spareSets    = sync.Pool{New: func() any { return new(longRests) }}
)

// receive receives at most this many messages. Its results are those of TryRecvMessages.
func (r *arrivalRoom) receive(fd int, calls reactor.Calls, most int) (n int, errno syscall.Errno) {
	set := spareSets.Get().(*longRests)
	for i := range most {
		if set[i] == nil {
			set[i] = spareRests.Get().(*longRest)
		}
		r.calls.Add(r.data[i][:])
		r.calls.SetRest(i, set[i][:])
		r.calls.SetControl(i, bytesOf(&r.control[i]))
	}
	n, errno = calls.TryRecvMessages(fd, &r.calls)
	for i := range most {
		r.calls.SetRest(i, nil) // it would keep the memory of the set reachable
	}
	for i := range n {
		if r.calls.Size(i) > arrivalSize {
			r.rests[i], set[i] = set[i], nil
		}
	}
	spareSets.Put(set)
	return n, errno
}

// copy copies from the bytes of a message, from offset at on and before offset end. It returns the
// number of bytes.
func (r *arrivalRoom) copy(to []byte, message, at, end int) (n int) {
	if at < arrivalSize {
		n = copy(to, r.data[message][at:min(end, arrivalSize)])
	}
	if at+n < end && at+n >= arrivalSize {
		n += copy(to[n:], r.rests[message][at+n-arrivalSize:end-arrivalSize])
	}
	return n
}

// done says that a message is not needed any more.
func (r *arrivalRoom) done(message int) {
	if rest := r.rests[message]; rest != nil {
		r.rests[message] = nil
		spareRests.Put(rest)
	}
}

// put puts the room into the pool.
func (r *arrivalRoom) put() {
	for i := range r.rests {
		r.done(i)
	}
	r.calls.Reset()
	arrivalRooms.Put(r)
}

// bytesOf returns the memory of a control buffer.
func bytesOf(words *[arrivalControl / 8]uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(words)), arrivalControl)
}
