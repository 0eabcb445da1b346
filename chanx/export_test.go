package chanx

// Waiting is how many wait to send.
func (s *Sender[T]) Waiting() int { return int(s.ch.senders.n.Load()) }

// Waiting is how many wait to receive.
func (r *Receiver[T]) Waiting() int { return int(r.ch.receivers.n.Load()) }

// Waiting is 1 if the receiver waits.
func (s *UnboundedSender[T]) Waiting() int { return int(s.ch.receiver.n.Load()) }

// Waiting is how many wait to receive.
func (s *BroadcastSender[T]) Waiting() int { return int(s.ch.waiters.n.Load()) }

// Waiting is how many wait for a new value.
func (s *WatchSender[T]) Waiting() int { return int(s.ch.waiters.n.Load()) }

// Waiting reports whether the receiver waits.
func (s *OneshotSender[T]) Waiting() bool { return s.state.Load()&oneshotListening != 0 }
