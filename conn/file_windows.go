package conn

import (
	"errors"
	"fmt"
	"os"
)

// fileOf: a socket is no file on Windows.
func fileOf(int, string) (*os.File, error) {
	return nil, fmt.Errorf("conn: File of a socket on Windows: %w", errors.ErrUnsupported)
}
