package main

import (
	"os"
	"testing"
)

// beStandIn has the test program be the stand-in, so that tests can start it.
const beStandIn = "BE_GITSYNC_STANDIN"

func TestMain(m *testing.M) {
	if os.Getenv(beStandIn) != "" {
		main()
		return
	}
	code := m.Run()
	if agentDir != "" {
		_ = os.RemoveAll(agentDir)
	}
	os.Exit(code)
}
