package sched_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/suiro-go/suiro/sched"
)

// Two goroutines cancel, one of them a descendant. Each Cancel returns when all is done.
func TestCancelReturnsWhenTheDescendantsAreCanceledAndToldWhoeverCancelsThem(t *testing.T) {
	for range rounds(300) {
		root := sched.NewCancellationToken()
		child := root.Child()
		grandchild := child.Child()
		for range 500 {
			root.Child()
		}
		tokens := []*sched.CancellationToken{root, child, grandchild}
		for _, token := range tokens {
			token.Done()
		}
		var both sync.WaitGroup
		for i, token := range tokens[:2] {
			both.Go(func() {
				token.Cancel()
				for _, of := range tokens[i:] {
					assert.True(t, of.IsCanceled())
					assertClosed(t, of.Done())
				}
			})
		}
		both.Wait()
	}
}

func assertClosed(t *testing.T, done <-chan struct{}) {
	select {
	case <-done:
	default:
		assert.Fail(t, "Done is open")
	}
}

// That is a part of the contract of context.Context.
func TestErrOfATokensContextIsNilWhileDoneIsOpen(t *testing.T) {
	for range rounds(300) {
		root := sched.NewCancellationToken()
		last := root.Child().Context()
		for range 500 {
			root.Child()
		}
		last.Done()
		var ended sync.WaitGroup
		for _, ctx := range []context.Context{root.Context(), last} {
			ended.Go(func() {
				for ctx.Err() == nil {
				}
				assertClosed(t, ctx.Done())
			})
		}
		root.Cancel()
		ended.Wait()
	}
}
