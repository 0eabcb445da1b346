package sock

// A Cred names the peer process of a Unix socket: the process that connected or listened, with its
// users as of that moment.
type Cred struct {
	PID int    // the process; 0: the system does not say
	UID uint32 // the effective user
	GID uint32 // the effective group
}
