package sock

// End ends a stream's connection at once, though duplicates of the descriptor are open, which
// would delay what close sends: the peer sees a reset if abort is set and the system can do
// that (Linux, TCP), else the end. The descriptor stays open.
func End(fd int, abort bool) {
	if abort && disconnect(fd) == nil {
		return
	}
	_ = shutdownBoth(fd) // an error: it has ended
}
