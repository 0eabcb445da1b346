package conn

import (
	"context"
	"fmt"
	"net"

	"github.com/suiro-go/suiro/internal/ctxend"
	"github.com/suiro-go/suiro/internal/sock"
	"github.com/suiro-go/suiro/sched"
)

// endOf is the error of a ctx that has ended, before a call begins; nil: the call begins. The end
// of a task's own context is that of its wait.
func endOf(ctx context.Context) error {
	if _, isTask := ctx.(*sched.Context); isTask || ctx == nil {
		return nil
	}
	return sock.ContextError(ctxend.Reason(ctx))
}

// acceptError is the error of an accept, in the form of package net.
func acceptError(addr net.Addr, err error) error {
	if _, named := err.(*net.OpError); named {
		return err
	}
	if err == sched.ErrClosed { // the workers have stopped
		err = fmt.Errorf("the group is closed: %w: %w", net.ErrClosed, err)
	}
	return opErrorOf("accept", addr, sock.ContextError(err))
}
