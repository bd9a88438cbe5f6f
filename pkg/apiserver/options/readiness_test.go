package options

import "testing"

type fakeCA []byte

func (ca *fakeCA) CurrentCABundleContent() []byte { return *ca }

func TestNotReadyBeforeTheProxyIsTrusted(t *testing.T) {
	var ca fakeCA
	check := newProxyTrustCheck(&ca)
	if err := check.Check(nil); err == nil {
		t.Error("ready although no proxy could be trusted")
	}
	ca = fakeCA("-----BEGIN CERTIFICATE-----")
	if err := check.Check(nil); err != nil {
		t.Errorf("not ready although the proxy is trusted: %v", err)
	}
}
