package registration

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
)

// uninstallInterval is longer than a server that has read the Service before it changed
// takes to apply an APIService.
const uninstallInterval = 2 * time.Second

// MinimumAge is the time for which the API must have been available before it is
// deleted. Until the garbage collector watches a new API, which it discovers every 30
// seconds, it reads each owner repeatedly. Without the APIService it gets 404, and would
// delete every child.
const MinimumAge = 90 * time.Second

// Uninstall deletes the APIServices that refer to a Service, and disables registration in
// running servers. Websites stay in the store, and their children in the cluster. It first
// waits until the API has been available for minimumAge. It returns the names of the
// deleted APIServices.
func Uninstall(ctx context.Context, client kubernetes.Interface, apiServices aggregator.APIServiceInterface,
	service Service, minimumAge time.Duration) ([]string, error) {
	if err := waitForAge(ctx, apiServices, service, minimumAge); err != nil {
		return nil, err
	}
	disable := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, AnnotationRegistration, RegistrationDisabled)
	_, err := client.CoreV1().Services(service.Namespace).Patch(ctx, service.Name, types.MergePatchType, disable,
		metav1.PatchOptions{FieldManager: FieldManager})
	// Without the Service no server can register itself.
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("disabling registration at service %s/%s: %w", service.Namespace, service.Name, err)
	}
	var deleted []string
	quiet := 0
	err = wait.PollUntilContextCancel(ctx, uninstallInterval, true, func(ctx context.Context) (bool, error) {
		now, err := deleteAPIServices(ctx, apiServices, service)
		deleted = append(deleted, now...)
		if quiet++; len(now) > 0 {
			quiet = 0
		}
		// Two rounds without a change are required: the second one finds an APIService that was
		// applied meanwhile.
		return quiet > 1, err
	})
	slices.Sort(deleted)
	return slices.Compact(deleted), err
}

// waitForAge waits until the available APIServices have been available for a time.
func waitForAge(ctx context.Context, client aggregator.APIServiceInterface, service Service,
	minimumAge time.Duration) error {
	for _, version := range versions {
		name := apiServiceName(version.name)
		current, err := client.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && !leadsTo(current, service) {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading APIService %s: %w", name, err)
		}
		for _, condition := range current.Status.Conditions {
			if condition.Type != apiregistrationv1.Available || condition.Status != apiregistrationv1.ConditionTrue {
				continue
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("waiting until APIService %s has been available for %s: %w", name, minimumAge, context.Cause(ctx))
			case <-time.After(time.Until(condition.LastTransitionTime.Add(minimumAge))):
			}
		}
	}
	return nil
}

// leadsTo reports whether an APIService refers to a Service, and not to another server or to
// a CustomResourceDefinition.
func leadsTo(apiService *apiregistrationv1.APIService, service Service) bool {
	reference := apiService.Spec.Service
	return reference != nil && reference.Namespace == service.Namespace && reference.Name == service.Name
}

// deleteAPIServices returns the names of the deleted ones.
func deleteAPIServices(ctx context.Context, client aggregator.APIServiceInterface, service Service) ([]string, error) {
	var deleted []string
	for _, version := range versions {
		name := apiServiceName(version.name)
		current, err := client.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return deleted, fmt.Errorf("reading APIService %s: %w", name, err)
		}
		if !leadsTo(current, service) {
			continue
		}
		err = client.Delete(ctx, name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(current.UID))})
		if err != nil && !apierrors.IsNotFound(err) {
			return deleted, fmt.Errorf("deleting APIService %s: %w", name, err)
		}
		deleted = append(deleted, name)
	}
	return deleted, nil
}
