package conn

// Waits reports whether a task waits in the stream.
func Waits(s *Stream) bool {
	st := s.Socket().duplex.Stats()
	return st.AwaitsData || st.AwaitsRoom
}
