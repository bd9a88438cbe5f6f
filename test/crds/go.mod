module github.com/kubesites/website-apiserver/test/crds

go 1.26.0

toolchain go1.26.8

// The definitions in these modules are those of the objects that artifacts/components has.
// The packages are named because a module without one is not kept.
tool (
	github.com/cert-manager/cert-manager/pkg/apis/certmanager
	github.com/prometheus-operator/prometheus-operator/pkg/versionutil
)

require (
	github.com/alecthomas/kingpin/v2 v2.4.0 // indirect
	github.com/alecthomas/units v0.0.0-20240927000941-0f3dac36c52b // indirect
	github.com/cert-manager/cert-manager v1.21.2 // indirect
	github.com/prometheus-operator/prometheus-operator v0.85.0 // indirect
	github.com/prometheus/common v0.67.5 // indirect
	github.com/xhit/go-str2duration/v2 v2.1.0 // indirect
)
