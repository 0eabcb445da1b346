//go:build !unix

package main

import "errors"

func become(string, []string) error { return errors.ErrUnsupported }
