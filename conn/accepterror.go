package conn

import (
	"context"
	"net"

	"github.com/suiro-go/suiro/internal/ctxcheck"
	"github.com/suiro-go/suiro/internal/engine"
	"github.com/suiro-go/suiro/internal/sock"
)

// endOf is the error of a ctx that has ended, before a call begins (see ctxcheck.Ended).
func endOf(ctx context.Context) error { return sock.ContextError(ctxcheck.Ended(ctx)) }

// acceptError is the error of an accept, in the form of package net.
func acceptError(addr net.Addr, err error) error {
	if _, named := err.(*net.OpError); named {
		return err
	}
	return opErrorOf("accept", addr, sock.ContextError(engine.GroupError(err)))
}
