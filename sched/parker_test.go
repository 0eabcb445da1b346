package sched

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOneUnparkOfSeveralWakesTheDriver(t *testing.T) {
	var p parker
	require.False(t, p.unpark(), "a worker that runs")
	require.False(t, p.tryPark(), "it has not looked since")
	p.looking()
	require.True(t, p.tryPark())
	require.True(t, p.isParked())
	require.True(t, p.unpark())
	require.False(t, p.isParked())
	require.False(t, p.unpark())
}
