package store

import (
	"io"
	"strings"

	"google.golang.org/grpc/grpclog"
	"k8s.io/klog/v2"
)

// k8s.io/apiserver has gRPC log each attempt to connect that fails. A closed server refuses one a second for each
// client of etcd, as long as an import has not begun. Guard logs once that the server is closed, or that etcd does not
// answer.
func init() { grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, grpcWarnings{}, io.Discard)) }

// grpcWarnings logs what gRPC warns of, for debugging.
type grpcWarnings struct{}

func (grpcWarnings) Write(line []byte) (int, error) {
	klog.V(4).Info(strings.TrimSpace(string(line)))
	return len(line), nil
}
