package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Of each 100 jobs, five fail, 1 to 5 times. Those with 1, 2 and 3 failures are done after as many
// retries. The others are given up after 3 retries.
func TestJobsAreRetried(t *testing.T) {
	for _, workers := range []int{1, 8} {
		figures, err := serve(1000, workers, 5)
		require.NoError(t, err)
		require.Equal(t, "120 retries, 20 jobs given up", figures)
	}
}

func TestJobsThatNeverFail(t *testing.T) {
	figures, err := serve(100, 3, 0)
	require.NoError(t, err)
	require.Equal(t, "0 retries, 0 jobs given up", figures)
}
