package server

import (
	"log/slog"
	"os"

	"github.com/rs/zerolog"
)

// defaultLogger is zerolog to the standard error, from warnings up.
func defaultLogger() *slog.Logger {
	return slog.New(zerolog.NewSlogHandler(zerolog.New(os.Stderr).Level(zerolog.WarnLevel).With().Timestamp().Logger()))
}
