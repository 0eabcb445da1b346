package sock

import (
	"errors"
	"fmt"
	"os"
)

// File: a socket is no file on Windows.
func File(int, string) (*os.File, error) {
	return nil, fmt.Errorf("conn: File of a socket on Windows: %w", errors.ErrUnsupported)
}
