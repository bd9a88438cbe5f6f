package devcluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/kubesites/website-apiserver/hack/devcluster/node"
)

// ErrUnsuitable is wrapped by the error of Up where this machine cannot offer NodeReal; the
// error says what it lacks. NodeSimulated may work.
var ErrUnsuitable = errors.New("this machine cannot offer NODE=real")

// resolve turns NodeAuto into what this machine can offer, says so, and makes sure that a
// real node has the programs it needs.
func (m NodeMode) resolve(ctx context.Context, l layout, p *progress) (NodeMode, error) {
	if m != NodeAuto && m != NodeReal {
		return m, nil
	}
	err := node.Suitable(ctx, l.dir)
	if err == nil {
		err = node.EnsurePrograms(ctx, func(packages string) {
			p.printf("nodes: installing Debian's packages a real node needs: %s", packages)
		})
	}
	switch {
	case ctx.Err() != nil:
		return m, context.Cause(ctx)
	case err == nil && m == NodeAuto:
		p.printf("nodes: NODE=auto takes real: this is Linux, and root may make namespaces and cgroups here")
		return NodeReal, nil
	case err == nil:
		return NodeReal, nil
	case m == NodeAuto:
		p.printf("nodes: NODE=auto takes simulated (kwok): pods become Ready, but no container runs. A real node is not possible: %v", err)
		return NodeSimulated, nil
	default:
		return m, fmt.Errorf("%w: %w", ErrUnsuitable, err)
	}
}
