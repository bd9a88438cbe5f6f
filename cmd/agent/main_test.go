package main

import (
	"os"
	"testing"
)

// beAgent makes the test binary run as the agent, so that tests can start it.
const beAgent = "BE_WEBSITE_AGENT"

func TestMain(m *testing.M) {
	if os.Getenv(beAgent) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}
