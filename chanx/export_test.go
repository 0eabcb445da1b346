package chanx

// Waiting is the number of waiting senders.
func (s *Sender[T]) Waiting() int { return int(s.ch.senders.n.Load()) }

// Waiting is the number of waiting receivers.
func (r *Receiver[T]) Waiting() int { return int(r.ch.receivers.n.Load()) }

// Waiting is 1 if the receiver waits.
func (s *UnboundedSender[T]) Waiting() int { return int(s.ch.receiver.n.Load()) }

// Waiting is the number of waiting receivers.
func (s *BroadcastSender[T]) Waiting() int { return int(s.ch.waiters.n.Load()) }

// Waiting is the number of receivers that wait for a new value.
func (s *WatchSender[T]) Waiting() int { return int(s.ch.waiters.n.Load()) }

// Waiting reports whether the receiver waits.
func (s *OneshotSender[T]) Waiting() bool { return s.state.Load()&oneshotReceiverWaits != 0 }
