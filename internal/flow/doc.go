// Package flow has what a connection's task holds of its bytes: an [Input] of those that were
// received and not read, an [Output] of those that were written and not handed to the kernel.
// Both take their memory from the pools of the worker that runs the task, and hold none when
// they are empty.
package flow
