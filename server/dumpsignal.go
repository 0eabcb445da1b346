package server

import (
	"log/slog"
	"os"
	"os/signal"
	"sync"

	"github.com/suiro-go/suiro/internal/bubble"
)

// dumpVariable is the environment variable that asks for reports on a signal.
const dumpVariable = "SUIRO_DUMP"

var watchSignal sync.Once

// dumpOnSignal makes the process write DumpAll to the standard error at each SIGUSR1, if
// SUIRO_DUMP=signal. The first server of the process calls it. Otherwise no signal is caught.
func dumpOnSignal(logger *slog.Logger) {
	watchSignal.Do(func() {
		switch value := os.Getenv(dumpVariable); {
		case value == "":
		case value != "signal":
			logger.Warn("server: SUIRO_DUMP has an unknown value; use SUIRO_DUMP=signal", "value", value)
		case dumpSignal == nil:
			logger.Warn("server: SUIRO_DUMP=signal has no effect, since this system has no SIGUSR1; call Server.Dump")
		default:
			signals := make(chan os.Signal, 1)
			signal.Notify(signals, dumpSignal)
			bubble.Go(func() {
				for range signals {
					_ = DumpAll(os.Stderr)
				}
			})
		}
	})
}
