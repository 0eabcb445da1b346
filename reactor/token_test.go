package reactor

import (
	"testing"
	"testing/quick"

	"github.com/stretchr/testify/require"
)

func TestTokenRoundTrip(t *testing.T) {
	require.NoError(t, quick.Check(func(index, generation uint32, kind uint8) bool {
		index &= MaxIndex
		token := MakeToken(index, generation)
		k, back := splitUserData(userData(Kind(kind), token))
		return token.Index() == index && token.Generation() == generation && back == token && k == Kind(kind)
	}, nil))
}

func TestTokensDiffer(t *testing.T) {
	seen := map[Token]bool{}
	for _, index := range []uint32{0, 1, 255, 256, MaxIndex} {
		for _, generation := range []uint32{0, 1, 1 << 31, 1<<32 - 1} {
			token := MakeToken(index, generation)
			require.False(t, seen[token], "%d/%d", index, generation)
			seen[token] = true
			require.Zero(t, token>>56, "the top byte belongs to the backends")
		}
	}
	require.Equal(t, MakeToken(0, 7), MakeToken(MaxIndex+1, 7), "an index is cut to its bits")
}

func TestKindString(t *testing.T) {
	require.Equal(t, "accept connect recv send cancel close", Accept.String()+" "+Connect.String()+" "+
		Recv.String()+" "+Send.String()+" "+Cancel.String()+" "+Close.String())
	for k := kindWake; int(k) < len(kindNames); k++ {
		require.NotEmpty(t, k.String())
	}
	require.Equal(t, "kind(0)", Kind(0).String())
	require.Equal(t, "kind(255)", Kind(255).String())
}

func TestCompletionErrno(t *testing.T) {
	for _, res := range []int{0, 5} {
		require.Zero(t, (&Completion{Res: res}).Errno())
	}
	require.EqualValues(t, 104, (&Completion{Res: -104}).Errno())
}
