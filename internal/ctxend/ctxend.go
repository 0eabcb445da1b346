// Package ctxend says why a context has ended.
package ctxend

import (
	"context"
	"errors"
	"fmt"
)

// Reason is an error that matches both ctx.Err() and context.Cause(ctx); nil: ctx has not ended.
func Reason(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		return nil // a cause that is given meanwhile matches no error
	}
	cause := context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}
