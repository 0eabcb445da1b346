package server

import (
	"errors"
	"net"
	"strings"
)

// listenError gives an error of Listen the form that it has in package net, a *net.OpError, and
// adds the hint.
func listenError(network, addr string, err error) error {
	op := &net.OpError{Net: network, Addr: target{network, addr}, Err: err}
	_ = errors.As(err, &op) // the fields of package net's error are better
	advice := hint(err)
	if strings.HasSuffix(op.Err.Error(), advice) {
		advice = ""
	}
	return &net.OpError{Op: "listen", Net: op.Net, Source: op.Source, Addr: op.Addr, Err: advised{op.Err, advice}}
}

// advised is an error with a hint how to fix it.
type advised struct {
	error
	hint string
}

func (e advised) Error() string { return e.error.Error() + e.hint }
func (e advised) Unwrap() error { return e.error }
