package conn

// Paused reports whether the socket has had enough.
func (s *Socket) Paused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

// Buffered is how much has arrived and is not read.
func (s *Socket) Buffered() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.in.Bytes
}

// Blocks is how many blocks hold that.
func (s *Socket) Blocks() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.in.Held()
}

// WaitsForRoom reports whether a write waits for the queue.
func (s *Socket) WaitsForRoom() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forRoom != nil
}

// FD is the descriptor, once it is open.
func (s *Socket) FD() int { return s.c.end.FD }

// FD is the descriptor of the first listening socket.
func (l *SocketListener) FD() int { return l.inner[0].end.FD }

// Arrived is how many sockets wait for Accept.
func (l *SocketListener) Arrived() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.arrived.Len()
}

// Waiting is how many calls wait for a connection.
func (l *SocketListener) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting.Len()
}

// Full reports whether a listening socket is not accepted from.
func (l *SocketListener) Full() bool {
	return l.inner[0].room.Stopped()
}

// WaitsForData reports whether a Read waits for something to arrive.
func (s *Socket) WaitsForData() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.readers.Len() > 0
}
