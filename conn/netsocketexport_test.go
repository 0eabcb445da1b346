package conn

// Paused reports whether the socket has had enough.
func (s *Socket) Paused() bool { return s.duplex.Stats().Paused }

// Buffered is how much has arrived and is not read.
func (s *Socket) Buffered() int { return s.duplex.Stats().Bytes }

// Blocks is how many blocks hold that.
func (s *Socket) Blocks() int { return s.duplex.Stats().Blocks }

// WaitsForRoom reports whether a write waits for the queue.
func (s *Socket) WaitsForRoom() bool { return s.duplex.Stats().AwaitsRoom }

// FD is the descriptor, once it is open.
func (s *Socket) FD() int { return s.conn().Endpoint.FD }

// FD is the descriptor of the first listening socket.
func (l *SocketListener) FD() int { return l.inner[0].FD() }

// Arrived is how many sockets wait for Accept.
func (l *SocketListener) Arrived() int { return l.arrivals.Len() }

// Waiting is how many calls wait for a connection.
func (l *SocketListener) Waiting() int { return l.arrivals.Waiting() }

// Full reports whether a listening socket is not accepted from.
func (l *SocketListener) Full() bool {
	return l.inner[0].socket.State().Full
}

// WaitsForData reports whether a Read waits for something to arrive.
func (s *Socket) WaitsForData() bool { return s.duplex.Stats().AwaitsData }
