//go:build unix

package main

import (
	"os"
	"syscall"
)

// become is that program from here on: signals and exit status are its own.
func become(exe string, argv []string) error {
	return &os.PathError{Op: "exec", Path: exe, Err: syscall.Exec(exe, argv, os.Environ())}
}
