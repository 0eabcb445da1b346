package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/suiro-go/suiro/bench/load"

	"github.com/suiro-go/suiro/bench/peers/internal/plain"
)

// A service is what a contender does with what it receives. Handlers are written as each framework's own examples
// are.
type service struct {
	chunks    *load.Chunker // a chunk for each byte; nil: echo
	http      bool          // an answer of HTTP to each request
	tls       bool          // within TLS
	udp       bool          // of datagrams
	deferred  bool          // clients are known to speak first
	coalesced bool          // what comes may gather
	burn      uint64        // iterations that a handler computes before it echoes what begins with load.Mark
	size      int           // of the load's messages: who chooses a buffer chooses it for these
}

func newService(kind, size string) (s service, err error) {
	if s.size, err = strconv.Atoi(size); err != nil {
		return s, err
	}
	kind, iterations, _ := strings.Cut(kind, ":")
	switch kind {
	case "echo", "churn", "idle":
	case "chunks", "slow-readers":
		s.chunks = load.NewChunker()
	case "http":
		s.http = true
	case "https", "https-idle":
		s.http, s.tls = true, true
	case "tls":
		s.tls = true
	case "udp":
		s.udp = true
	case "burn":
		s.burn, err = strconv.ParseUint(iterations, 10, 64)
	default:
		err = fmt.Errorf("there is no kind %q", kind)
	}
	return s, err
}

// plain refuses what only Suiro and package net are measured with.
func (s service) plain(serve func(service) error) error {
	if s.tls || s.udp {
		return errors.New("this contender has no TLS and no datagrams here")
	}
	return serve(s)
}

// answer calls write with what is to be sent in answer to p.
func (s service) answer(p []byte, write func([]byte) (int, error)) error {
	if s.http {
		_, err := write([]byte(plain.Fixed)) // the load's requests come whole, and one at a time
		return err
	}
	if s.chunks == nil {
		s.compute(p)
		_, err := write(p)
		return err
	}
	for _, request := range p {
		if _, err := write(s.chunks.Chunk(request)); err != nil {
			return err
		}
	}
	return nil
}

func (s service) compute(message []byte) {
	if s.burn > 0 && len(message) > 0 && message[0] == load.Mark {
		_ = burn(s.burn)
	}
}
