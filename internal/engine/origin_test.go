package engine

import (
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func port(i int) OriginKey { return OriginKey{Network: "tcp", Port: strconv.Itoa(i)} }

// Numbers of dropped origins are given again, and each names its origin throughout.
func TestAnOriginIsFoundByItsNumber(t *testing.T) {
	var s Origins
	require.Nil(t, s.Numbered(0))
	require.Zero(t, (*Origin)(nil).Number())
	used := map[uint16]*Origin{}
	for i := range 4 * keepOrigins {
		o := s.Use(port(i), 1)
		require.NotZero(t, o.Number())
		if i%4 == 0 {
			used[o.Number()] = o // stays
		} else {
			s.Unuse(o)
		}
		for n, o := range used {
			require.Same(t, o, s.Numbered(n))
		}
	}
	require.Less(t, len(*s.numbered.Load()), 4*keepOrigins)
	require.Same(t, used[s.Use(port(0), 1).Number()], s.Use(port(0), 1))
}

func TestAddressesAboveTheMostShareAnOrigin(t *testing.T) {
	var s Origins
	numbered := make([]atomic.Pointer[Origin], mostOrigins)
	s.numbered.Store(&numbered)
	for i := range mostOrigins - 1 { // what Use does, without its search
		o := &Origin{Key: port(i), number: uint16(i + 1), users: 1}
		s.all = append(s.all, o)
		numbered[o.number%mostOrigins].Store(o)
	}
	last := s.Use(port(mostOrigins), 1)
	require.Equal(t, port(mostOrigins), last.Key)
	rest := s.Use(port(mostOrigins+1), 1)
	require.Equal(t, OriginKey{Network: "tcp"}, rest.Key)
	require.Same(t, rest, s.Use(port(mostOrigins+2), 1))
	require.Same(t, rest, s.Numbered(rest.Number()))
	require.Same(t, last, s.Numbered(last.Number()))
}
