package crdimport

import (
	"context"
	"errors"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// PolicyName is the name of the ValidatingAdmissionPolicy, and of its binding, that
// rejects writes during an import: to kube-apiserver as well as to website-apiserver.
const PolicyName = "website-import"

func newPolicy() (*admissionregistrationv1.ValidatingAdmissionPolicy,
	*admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
	rule := admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update,
			admissionregistrationv1.Delete},
		// The status is not frozen, as it is computed again.
		Rule: admissionregistrationv1.Rule{APIGroups: []string{website.GroupName}, APIVersions: []string{"*"},
			Resources: []string{"websites", "websites/scale"}},
	}}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: PolicyName},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: ptr.To(admissionregistrationv1.Fail),
			MatchConstraints: &admissionregistrationv1.MatchResources{
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{rule},
			},
			Validations: []admissionregistrationv1.Validation{{
				Expression: "false",
				Reason:     ptr.To(metav1.StatusReasonForbidden),
				Message:    "Websites are being moved to website-apiserver; retry in a minute",
			}},
		},
	}
	return policy, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: PolicyName},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        PolicyName,
			ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
}

// policy returns the UID of the policy, empty if there is none.
func (i *Importer) policy(ctx context.Context) (types.UID, error) {
	policy, err := i.kube.AdmissionregistrationV1().ValidatingAdmissionPolicies().Get(ctx, PolicyName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the ValidatingAdmissionPolicy %s: %w", PolicyName, err)
	}
	return policy.UID, nil
}

// freeze makes every API server reject writes.
func (i *Importer) freeze(ctx context.Context) error {
	policy, binding := newPolicy()
	client := i.kube.AdmissionregistrationV1()
	if _, err := client.ValidatingAdmissionPolicies().Create(ctx, policy, metav1.CreateOptions{}); err != nil &&
		!apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating the ValidatingAdmissionPolicy %s: %w", PolicyName, err)
	}
	if _, err := client.ValidatingAdmissionPolicyBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil &&
		!apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating the ValidatingAdmissionPolicyBinding %s: %w", PolicyName, err)
	}
	err := i.waitFor(ctx, "writes are refused", func(ctx context.Context) error {
		refused, err := i.refuses(ctx)
		if err == nil && !refused {
			err = errors.New("a write is accepted")
		}
		return err
	})
	if err != nil {
		return err
	}
	return i.propagate(ctx)
}

// refuses reports whether writes are rejected. Without a Website this cannot be tried.
func (i *Importer) refuses(ctx context.Context) (bool, error) {
	list, err := i.dynamic.Resource(websites).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return false, fmt.Errorf("listing Websites: %w", err)
	}
	if len(list.Items) == 0 {
		policy, err := i.policy(ctx)
		return policy != "", err
	}
	patch := []byte(`{"metadata":{"annotations":{"mycontroller.nevermosby.io/import":"dry run"}}}`)
	_, err = i.dynamic.Resource(websites).Namespace(list.Items[0].GetNamespace()).Patch(ctx, list.Items[0].GetName(),
		types.MergePatchType, patch, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	if apierrors.IsForbidden(err) && strings.Contains(err.Error(), PolicyName) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("trying a write: %w", err)
	}
	return false, nil
}

// unfreeze permits writes. The policy is removed last: while it exists, the import
// is incomplete.
func (i *Importer) unfreeze(ctx context.Context) error {
	client := i.kube.AdmissionregistrationV1()
	if err := client.ValidatingAdmissionPolicyBindings().Delete(ctx, PolicyName, metav1.DeleteOptions{}); err != nil &&
		!apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting the ValidatingAdmissionPolicyBinding %s: %w", PolicyName, err)
	}
	if err := client.ValidatingAdmissionPolicies().Delete(ctx, PolicyName, metav1.DeleteOptions{}); err != nil &&
		!apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting the ValidatingAdmissionPolicy %s: %w", PolicyName, err)
	}
	return i.waitFor(ctx, "writes are permitted", func(ctx context.Context) error {
		refused, err := i.refuses(ctx)
		if err == nil && refused {
			err = errors.New("a write is refused")
		}
		return err
	})
}
