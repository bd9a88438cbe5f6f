package podprobe

import (
	"context"
	"net/http"
	"net/url"

	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// request sends the request of one probe. While the agent does not respond, nginx does: the site is
// served without it. A pod of an earlier version has no agent.
func (p *Prober) request(ctx context.Context, pod *cached.Pod, a ask) (answer, error) {
	code, body, err := p.requestStatus(ctx, pod, a)
	if err != nil {
		return answer{}, err
	}
	if code == http.StatusOK {
		return parseStatus(body)
	}
	hasAgent := code != http.StatusNotFound
	if code, body, err = p.Client.Get(ctx, pod, Request{Port: resources.AdminPort, Path: "/commit"}); err != nil {
		return answer{}, err
	}
	commit, err := parseCommit(code, body)
	return answer{Observation: workload.Observation{Commit: commit, SyncUnreachable: hasAgent}}, err
}

// requestStatus requests the status of a pod, with the parameters for its agent. An agent without the
// key of the signature still answers a request without parameters.
func (p *Prober) requestStatus(ctx context.Context, pod *cached.Pod, a ask) (code int, body []byte, err error) {
	made := Request{Port: resources.AdminPort, Path: "/status", Query: a.query(), Wait: a.wait}
	needsSignature := requests.NeedsSignature(made.Query)
	if needsSignature && p.Sign != nil {
		made.Signature = p.Sign(pod.UID, made.Query)
	}
	code, body, err = p.Client.Get(ctx, pod, made)
	if err != nil || !needsSignature || code != http.StatusUnauthorized && code != http.StatusForbidden &&
		code != http.StatusTooManyRequests {
		return code, body, err
	}
	klog.FromContext(ctx).V(2).Info("Pod refuses a signed request", "pod", klog.KObj(pod), "status", code)
	made.Query, made.Signature = requests.Unsigned(made.Query), ""
	if a.isAbout() {
		// The agent rejects the parameters, so nothing can be waited for.
		made.Query, made.Wait = url.Values{}, 0
	}
	return p.Client.Get(ctx, pod, made)
}
