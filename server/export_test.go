package server

// LineLogger and DefaultLogger are for tests.
var (
	LineLogger    = lineLogger
	DefaultLogger = defaultLogger
)

// WarnAbove is for tests.
var WarnAbove = warnAbove

// WarnOfUntakenSockets is called by Run, once per process.
func (s *Server) WarnOfUntakenSockets() { s.warnOfUntakenSockets() }
