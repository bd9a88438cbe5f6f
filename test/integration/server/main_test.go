// Package server tests the operation of website-apiserver beside a real kube-apiserver:
// its stores, certificates, encryption, metrics, shutdown, storage migration.
//
// Tests that stop or kill a component run one after the other; all others run in
// parallel afterwards, each in namespaces of its own.
package server

import (
	"testing"

	"github.com/kubesites/website-apiserver/test/framework"
)

func TestMain(m *testing.M) {
	framework.Main(m, framework.Options{Name: "integration-server", EmbeddedEtcd: true})
}
