package sock

// End ends a stream's connection at once, though duplicates of the descriptor are open, which
// would delay what close sends: the peer sees the end, or a reset if abort is set. A reset is
// for TCP on Linux alone. Elsewhere End leaves it to the last duplicate's close, since an end
// in its place would have the peer take what was cut short for the whole. The descriptor stays
// open.
func End(fd int, abort bool) {
	if abort {
		_ = disconnect(fd) // an error: the last close resets
		return
	}
	_ = shutdownBoth(fd) // an error: it has ended
}
