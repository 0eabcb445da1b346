package procs

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheLargestWishCountsAndTheLastEndSetsBack(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	Raise("a", 3)
	require.Equal(t, before+3, runtime.GOMAXPROCS(0))
	Raise("b", 1)
	require.Equal(t, before+3, runtime.GOMAXPROCS(0))
	require.Equal(t, before, Own())
	Lower("a")
	require.Equal(t, before+3, runtime.GOMAXPROCS(0))
	Lower("b")
	require.Equal(t, before, runtime.GOMAXPROCS(0))
	require.Equal(t, before, Own())
}

func TestWhatAProgramSetsItselfIsSetBack(t *testing.T) {
	defer runtime.SetDefaultGOMAXPROCS()
	own := runtime.NumCPU() + 7 // nothing that Go chooses
	runtime.GOMAXPROCS(own)
	Raise(t, 2)
	require.Equal(t, own+2, runtime.GOMAXPROCS(0))
	Lower(t)
	require.Equal(t, own, runtime.GOMAXPROCS(0))
}

func TestAChangeMeanwhileStays(t *testing.T) {
	defer runtime.SetDefaultGOMAXPROCS()
	Raise("a", 2)
	other := runtime.NumCPU() + 9
	runtime.GOMAXPROCS(other)
	require.Equal(t, other, Own())
	Raise("b", 4)
	require.Equal(t, other, runtime.GOMAXPROCS(0))
	Lower("a")
	Lower("b")
	require.Equal(t, other, runtime.GOMAXPROCS(0))
}
