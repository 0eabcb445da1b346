package sock

// peerPID is not known: package unix has no field for it.
func peerPID(int) int { return 0 }
