package reactor

import (
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An interface may have been made after the last query.
func TestANewInterfaceIsAZoneAtOnce(t *testing.T) {
	all, err := net.Interfaces()
	require.NoError(t, err)
	require.NotEmpty(t, all)
	old := func() *zoneCache {
		return &zoneCache{asked: time.Now(), indices: map[string]uint32{}, names: map[uint32]string{}}
	}
	for _, ifi := range all {
		require.EqualValues(t, ifi.Index, old().index(ifi.Name))
		require.Equal(t, ifi.Name, old().name(uint32(ifi.Index)))
	}
	z := old()
	require.Zero(t, z.index("no such interface"))
	require.EqualValues(t, 7, z.index("7"))
	const none = 1 << 30
	require.Equal(t, strconv.Itoa(none), z.name(none))
	asked := z.asked
	require.Equal(t, strconv.Itoa(none), z.name(none))
	require.Equal(t, asked, z.asked, "it is not asked for again")
}
