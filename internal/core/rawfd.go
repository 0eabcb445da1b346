package core

import "github.com/suiro-go/suiro/internal/sock"

// LendFD calls f with a duplicate of the descriptor.
func LendFD(c *Conn, f func(fd uintptr) bool) error {
	fd := -1
	err := c.WithFD(func(orig int) (err error) {
		if fd, err = sock.Duplicate(orig); err != nil {
			return err
		}
		c.Inbox.Need(nil).duplicates++
		return nil
	})
	if err != nil {
		return err
	}
	defer c.undup() // the duplicate is closed
	return sock.UseAndClose(fd, f)
}
