package reactor

import (
	"net"
	"strconv"
	"sync"
	"time"
)

// zones caches the names of interfaces, which are IPv6 zones. A query takes several system calls,
// so there is at most one query in a minute, and one more for each interface that is not in the
// cache: it may be new. An interface without a name goes by its number.
var zones zoneCache

type zoneCache struct {
	mu      sync.Mutex
	asked   time.Time
	indices map[string]uint32
	names   map[uint32]string
}

const zonesStay = time.Minute

// refresh queries the interfaces if the last query was long ago.
func (z *zoneCache) refresh() {
	if z.names == nil || time.Since(z.asked) >= zonesStay {
		z.query()
	}
}

func (z *zoneCache) query() {
	z.asked = time.Now()
	z.indices, z.names = map[string]uint32{}, map[uint32]string{}
	list, err := net.Interfaces()
	if err != nil {
		return // numbers work as well
	}
	for _, ifi := range list {
		z.indices[ifi.Name], z.names[uint32(ifi.Index)] = uint32(ifi.Index), ifi.Name
	}
}

// index returns the number of a zone, 0 if there is none.
func (z *zoneCache) index(name string) uint32 {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.refresh()
	if i := z.indices[name]; i != 0 {
		return i
	}
	if i, err := strconv.ParseUint(name, 10, 32); err == nil {
		return uint32(i)
	}
	z.query()
	return z.indices[name]
}

func (z *zoneCache) name(index uint32) string {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.refresh()
	if z.names[index] == "" {
		z.query()
	}
	if z.names[index] == "" {
		z.names[index] = strconv.FormatUint(uint64(index), 10) // until the next query
	}
	return z.names[index]
}
