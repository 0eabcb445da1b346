package sched

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAnAlarmGoesOffAtTheTimeThatWasSetLast(t *testing.T) {
	for name, a := range map[string]alarm{"kernel": newKernelAlarm(), "timer": newTimerAlarm()} {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				if name == "kernel" {
					a.set(time.Hour)
					a.cancel()
					a.set(time.Hour)
				}
				began := time.Now()
				a.set(time.Millisecond)
				require.True(t, a.wait())
				require.GreaterOrEqual(t, time.Since(began), time.Millisecond)
			}
			a.set(time.Hour)
			a.stop()
			require.False(t, a.wait())
		})
	}
}
