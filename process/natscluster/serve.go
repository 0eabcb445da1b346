package natscluster

import (
	"sync"

	"github.com/suiro-go/suiro/process"
)

// serve gives a process the request of a call.
func (p *peer) serve(e *entry, epoch uint64) {
	s := &served{p: p, id: e.id, hash: e.hash}
	t := p.c.cfg.Types.withHash(e.hash)
	if t == nil || t.accept == nil {
		s.answer(nil, ErrUnknownType)
		return
	}
	r, ok := s.accept(t, e.body)
	if !ok {
		return
	}
	p.mu.Lock()
	if epoch != p.epoch || p.ended { // the caller knows
		p.mu.Unlock()
		return
	}
	if p.serving == nil {
		p.serving = make(map[uint64]*served)
	}
	p.serving[e.id] = s
	p.mu.Unlock()
	stop, lives := p.c.sys.OnEnd(e.target, func(error) { s.answer(nil, process.ErrNoProcess) })
	if !lives {
		s.answer(nil, process.ErrNoProcess)
		return
	}
	s.stopAtAnswer(stop)
	p.deliver(delivery{e.target, r, true, uint64(e.cost())}, epoch)
}

// A served is a call from another node.
type served struct {
	p    *peer
	id   uint64
	hash uint32 // of the type

	mu   sync.Mutex
	done bool
	stop func() // ends the monitor of the called process
}

// accept decodes the request. The caller gets an error if it cannot.
func (s *served) accept(t *messageType, body []byte) (r any, ok bool) {
	err := errCrashed
	defer func() {
		if err != nil {
			s.answer(nil, err)
		}
	}()
	s.p.c.try("the Codec", func() { r, err = t.accept(s.p.c.cfg.Codec, body, s.answer) })
	return r, err == nil
}

func (s *served) stopAtAnswer(stop func()) {
	s.mu.Lock()
	done := s.done
	s.stop = stop
	s.mu.Unlock()
	if done {
		stop()
	}
}

// end ends the call. It reports whether this is the first time.
func (s *served) end() bool {
	s.mu.Lock()
	done, stop := s.done, s.stop
	s.done = true
	s.mu.Unlock()
	if done {
		return false
	}
	if stop != nil {
		stop()
	}
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	if s.p.serving[s.id] == s {
		delete(s.p.serving, s.id)
	}
	return true
}

// answer sends the answer, once. false: the caller does not get it.
func (s *served) answer(encoded []byte, err error) (sent bool) {
	if !s.end() {
		return false
	}
	if err != nil {
		encoded = nil
	}
	e := entry{kind: entryAnswer, id: s.id, hash: s.hash, body: append(encodeError(err), encoded...)}
	refused := s.p.add(&e, true)
	if refused == ErrTooLarge { // the caller of a lost node knows
		e.body = encodeError(ErrTooLarge)
		_ = s.p.add(&e, true)
	}
	return refused == nil
}
