package gateway

import (
	"context"
	"errors"
)

// errClientGone is the end of an exchange whose client does not wait for the answer.
var errClientGone = errors.New("the client is gone")

// watch has k.gone end when the client has: by a reset, or by a FIN. A client that only
// half-closes is taken for gone as well, as nginx and net/http's ReverseProxy take it: a
// FIN is all that most of those that go away ever send.
func (k *client) watch() (end func()) {
	k.gone, k.leave = context.WithCancel(context.Background())
	k.socket.NotifyEnd(k.leave)
	return k.leave
}

// abortWithClient resets both connections when the client is gone, from now until
// stop is called. A reset ends every read and write, and no deadline that is set at the
// same time can undo it.
func (k *client) abortWithClient(up *lease) (stop func() bool) {
	return context.AfterFunc(k.gone, func() {
		up.abort()
		k.abort()
	})
}
