package process

import (
	"maps"
	"reflect"
)

type commandHandler func(pid PID, tag uint64, command any)

// OnCommand registers the handler of the commands of type C that processes yield. It replaces an
// earlier one. The handler runs on the worker of the process, so it must not block. It must
// complete each command once, by CompleteYield with its pid and tag: during the call, or later and
// from any goroutine. Nobody can complete the command of a process that has ended: CompleteYield
// then returns ErrNoProcess. A panic of the handler ends the process.
func OnCommand[C any](s *System, handle func(pid PID, tag uint64, command C)) {
	s.handlersMu.Lock()
	defer s.handlersMu.Unlock()
	all := make(map[reflect.Type]commandHandler)
	if old := s.handlers.Load(); old != nil {
		maps.Copy(all, *old)
	}
	all[reflect.TypeFor[C]()] = func(pid PID, tag uint64, command any) { handle(pid, tag, command.(C)) }
	s.handlers.Store(&all)
}

// CompleteYield gives a process the result of a command that it has yielded. Any goroutine may call
// it. It is ErrNoProcess if the process has ended. Functions and connections yield no commands, and
// do not get it.
func (s *System) CompleteYield(pid PID, tag uint64, data any, err error) error {
	p := s.table.get(pid)
	if p == nil || !p.signal(nil, Event{Type: EventYield, Tag: tag, Data: data, Error: err}) {
		return ErrNoProcess
	}
	return nil
}

// dispatch gives a command to its handler.
func (s *System) dispatch(pid PID, y yield) {
	if all := s.handlers.Load(); all != nil {
		if handle := (*all)[reflect.TypeOf(y.command)]; handle != nil {
			handle(pid, y.tag, y.command)
			return
		}
	}
	_ = s.CompleteYield(pid, y.tag, nil, ErrNoHandler) // the process runs, so it has not ended
}
