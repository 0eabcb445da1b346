package main

import (
	"errors"
	"io"

	"github.com/suiro-go/suiro/examples/redis/kv"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// serve is a connection. It executes commands where their bytes were received, so it has no input
// buffer. The replies to all that has arrived leave as one send, at the next wait.
func serve(_ *sched.Context, s *server.Stream, store *kv.Store) error {
	for need := 1; ; {
		if need > 1 { // it waits for all of the first command, as far as its length is known
			if _, err := s.Peek(need); err != nil {
				return ended(err)
			}
		}
		in, err := s.Peek(-1)
		if err != nil {
			return ended(err)
		}
		w := kv.Borrow()
		var n int
		n, need, err = store.Execute(w, in)
		_, rerr := s.Next(n) // before the Write, which may wait
		_, werr := s.Write(w.Out)
		w.Return()
		if err == kv.ErrQuit && werr == nil {
			return nil
		}
		if err = errors.Join(err, rerr, werr); err != nil {
			return err
		}
	}
}

// ended is the error of a connection on which nothing more can be read; nil: the client has
// finished.
func ended(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil
	}
	return err
}
