// Package core is a connection: one task that receives, calls the handler and sends. Package conn
// is what users see of it.
package core
