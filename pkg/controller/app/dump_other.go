//go:build !unix

package app

import "context"

// dumpOnSignal does nothing: there is no SIGUSR1 here.
func dumpOnSignal(context.Context) (wait func()) { return func() {} }
