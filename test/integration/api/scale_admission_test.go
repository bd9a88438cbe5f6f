package api

import (
	"context"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kubesites/website-apiserver/test/framework"
)

// TestAdmissionOfScales has policies on the scale of Websites in one version, which see requests
// through both: the Scale that was sent, and the former one.
func TestAdmissionOfScales(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	_, rule := framework.RuleFor(namespace, admissionregistrationv1.Update)
	rule.Resources = []string{"websites/scale"}
	bind(t, newPolicy(t, rule, nil, admissionregistrationv1.Validation{
		Expression: `object.kind == "Scale" && object.spec.replicas <= 2`,
		MessageExpression: `"at most 2 replicas, not " + string(object.spec.replicas) + " after " + ` +
			`string(oldObject.spec.replicas)`,
	}), namespace, nil)

	framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia", framework.V1alpha1Replicas(1)))
	websites := framework.Admin(t).Websites
	for version, client := range map[string]rest.Interface{"v1alpha1": websites.WebsiteV1alpha1().RESTClient(),
		"v1beta1": websites.WebsiteV1beta1().RESTClient()} {
		t.Run(version, func(t *testing.T) {
			scaleTo := func(ctx context.Context, replicas int) (*autoscalingv1.Scale, error) {
				scale := &autoscalingv1.Scale{}
				err := client.Patch(types.MergePatchType).Namespace(namespace).Resource("websites").Name("kubia").
					SubResource("scale").
					VersionedParams(&metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, metav1.ParameterCodec).
					Body(fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)).Do(ctx).Into(scale)
				return scale, err
			}
			framework.WaitFor(t, "the policy refuses 3 replicas", func(ctx context.Context) error {
				_, err := scaleTo(ctx, 3)
				if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "at most 2 replicas, not 3 after 1") {
					return fmt.Errorf("got %v", err)
				}
				return nil
			})
			if scale, err := scaleTo(ctx, 2); err != nil || scale.Spec.Replicas != 2 {
				t.Errorf("scaling to 2 replicas: %+v, %v", scale, err)
			}
		})
	}
}
