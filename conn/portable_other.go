//go:build !windows

package conn

func portable(err error) error { return err }
