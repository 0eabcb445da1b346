package sock

// End ends a stream's connection at once, even if duplicates of the descriptor are open, which
// would delay the effect of close. The peer sees the end, or a reset if abort is set. A reset needs
// TCP on Linux. Elsewhere End leaves it to the close of the last duplicate: with an end instead,
// the peer would take truncated data for complete. The descriptor stays open.
func End(fd int, abort bool) {
	if abort {
		_ = disconnect(fd) // an error: the last close resets
		return
	}
	_ = shutdownBoth(fd) // an error: it has ended
}
