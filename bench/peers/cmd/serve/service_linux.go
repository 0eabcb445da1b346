package main

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/suiro-go/suiro/bench/load"
	"github.com/suiro-go/suiro/examples/redis/kv"

	"github.com/suiro-go/suiro/bench/peers/internal/plain"
)

// A service is what a contender does with what it receives. Handlers are written as each
// framework's own examples are.
type service struct {
	chunks    *load.Chunker // a chunk for each byte; nil: echo
	keys      *kv.Store     // Redis' commands on these
	http      bool          // an answer of HTTP to each request
	tls       bool          // within TLS
	udp       bool          // of datagrams
	deferred  bool          // clients are known to speak first
	coalesced bool          // wake-ups may be coalesced
	burn      uint64        // iterations that a handler computes for each message that begins with load.Mark
	sleep     time.Duration // or for how long it blocks
	size      int           // of the load's messages: who chooses a buffer chooses it for these
}

func newService(kind, size string) (s service, err error) {
	if s.size, err = strconv.Atoi(size); err != nil {
		return s, err
	}
	kind, much, _ := strings.Cut(kind, ":")
	switch kind {
	case "echo", "churn", "idle":
	case "chunks", "slow-readers":
		s.chunks = load.NewChunker()
	case "redis":
		s.keys = kv.New()
	case "http":
		s.http = true
	case "https", "https-idle":
		s.http, s.tls = true, true
	case "tls":
		s.tls = true
	case "udp":
		s.udp = true
	case "burn":
		s.burn, err = strconv.ParseUint(much, 10, 64)
	case "block":
		s.sleep, err = time.ParseDuration(much)
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

// answer calls write with the answer to p.
func (s *service) answer(p []byte, write func([]byte) (int, error)) error {
	if s.http {
		_, err := write([]byte(plain.Fixed)) // the load's requests come whole, and one at a time
		return err
	}
	if s.chunks == nil {
		s.linger(p)
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

// linger burns or blocks once for each message in p that begins with load.Mark: no other byte is
// one.
func (s service) linger(p []byte) {
	if s.burn == 0 && s.sleep == 0 {
		return
	}
	for range bytes.Count(p, []byte{load.Mark}) {
		if s.burn > 0 {
			_ = burn(s.burn)
		}
		time.Sleep(s.sleep)
	}
}
