package reactor

import (
	"net"
	"strconv"
	"sync"
	"time"
)

// zones caches the names of interfaces, which are IPv6 zones. A query takes several system calls,
// so there is at most one query in a minute. An interface that is not in the cache goes by its
// number.
var zones zoneCache

type zoneCache struct {
	mu      sync.Mutex
	asked   time.Time
	indices map[string]uint32
	names   map[uint32]string
}

const zonesStay = time.Minute

func (z *zoneCache) refresh() {
	if z.names != nil && time.Since(z.asked) < zonesStay {
		return
	}
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
	i, err := strconv.ParseUint(name, 10, 32)
	if err != nil {
		return 0
	}
	return uint32(i)
}

func (z *zoneCache) name(index uint32) string {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.refresh()
	if name := z.names[index]; name != "" {
		return name
	}
	return strconv.FormatUint(uint64(index), 10)
}
