// Package flow holds the bytes of a connection's task. An [Input] is the bytes received and not
// read, an [Output] those written and not given to the kernel. Both take their memory from the
// pools of the worker that runs the task, and hold none when they are empty.
package flow
