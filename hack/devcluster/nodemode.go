package devcluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/kubesites/website-apiserver/hack/devcluster/node"
)

// ErrUnsuitable is wrapped by the error of Up if this machine does not support NodeReal,
// with the reason. NodeSimulated may work.
var ErrUnsuitable = errors.New("this machine does not support NODE=real")

// resolve replaces NodeAuto by a mode that this machine supports, reports it, and installs
// the programs that a real node requires.
func (m NodeMode) resolve(ctx context.Context, l layout, p *progress) (NodeMode, error) {
	if m != NodeAuto && m != NodeReal {
		return m, nil
	}
	err := node.Suitable(ctx, l.dir)
	if err == nil {
		err = node.EnsurePrograms(ctx, func(packages string) {
			p.printf("node: installing Debian packages: %s", packages)
		})
	}
	switch {
	case ctx.Err() != nil:
		return m, context.Cause(ctx)
	case err == nil && m == NodeAuto:
		p.printf("node: real, because this machine supports it (NODE=auto)")
		return NodeReal, nil
	case err == nil:
		return NodeReal, nil
	case m == NodeAuto:
		p.printf("node: simulated, so that pods become Ready but no container runs (NODE=auto): a real node is not "+
			"possible: %v", err)
		return NodeSimulated, nil
	default:
		return m, fmt.Errorf("%w: %w", ErrUnsuitable, err)
	}
}
