package server

// LineLogger is for tests.
var LineLogger = lineLogger

// WarnAbove is for tests.
var WarnAbove = warnAbove

// WarnOfUntakenSockets is called by Run, once per process.
func (s *Server) WarnOfUntakenSockets() { s.warnOfUntakenSockets() }
