//go:build !unix && !windows

package server

import "os"

const haveReusePort = false

// setOptions has no platform here yet: there is no backend that could accept from the
// socket.
func (s *Server) setOptions(string, int) error { return nil }

func closeOnExec(*os.File) {}
