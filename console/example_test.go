package console_test

import (
	"context"
	"log"
	"log/slog"

	"github.com/suiro-go/suiro/console"
	"github.com/suiro-go/suiro/server"
)

// A second server has the page, on the loopback interface. It has workers of its own.
func ExampleHandler() {
	warnings := console.NewWarnings(slog.Default().Handler())
	s := &server.Server{Addr: ":9000", Handler: &blocker{}, Events: 4096, Logger: slog.New(warnings)}
	page := console.Handler(s, &console.Config{Warnings: warnings})
	admin := &server.Server{Addr: "127.0.0.1:9001", Handler: server.HTTP(page)}
	if err := server.Run(context.Background(), s, admin); err != nil {
		log.Fatal(err)
	}
}
