package options

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	mutatingadmissionpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	validatingadmissionpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	"k8s.io/client-go/discovery"
	"k8s.io/klog/v2"
)

// pluginResources are the resources that an admission plugin reads from the
// host cluster and requires: until it has read them, it rejects every write. v1
// of ValidatingAdmissionPolicy came with Kubernetes 1.30, v1 of
// MutatingAdmissionPolicy with 1.36.
var pluginResources = []struct {
	plugin    string
	version   schema.GroupVersion
	resources []string
}{
	{mutatingadmissionpolicy.PluginName, admissionregistrationv1.SchemeGroupVersion,
		[]string{"mutatingadmissionpolicies", "mutatingadmissionpolicybindings"}},
	{mutatingwebhook.PluginName, admissionregistrationv1.SchemeGroupVersion, []string{"mutatingwebhookconfigurations"}},
	{validatingadmissionpolicy.PluginName, admissionregistrationv1.SchemeGroupVersion,
		[]string{"validatingadmissionpolicies", "validatingadmissionpolicybindings"}},
	{validatingwebhook.PluginName, admissionregistrationv1.SchemeGroupVersion,
		[]string{"validatingwebhookconfigurations"}},
}

// fairnessResources are the resources that priority and fairness reads from the host cluster.
var fairnessResources = []string{"flowschemas", "prioritylevelconfigurations"}

// hostRetryInterval is the time between two attempts to reach the host cluster.
const hostRetryInterval = time.Second

// adaptToHost disables admission plugins, and priority and fairness, whose resources
// the host cluster does not serve: there are no such policies to enforce. It waits
// until the host is reachable. It returns an error if the host denies the requests,
// or if a plugin that is enabled by a flag cannot work there.
//
// If a resource is served but cannot be read, policies may exist: the server does not
// become ready until it has the permission.
func (o CompletedOptions) adaptToHost(ctx context.Context) error {
	config, err := o.HostConfig()
	if err != nil {
		return err
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client of the host cluster: %w", err)
	}
	if err := awaitHost(ctx, client); err != nil {
		return err
	}
	return o.turnOffMissing(ctx, client)
}

// awaitHost waits until the host cluster answers. Without it no request can be
// authenticated and the store cannot be verified, so the server does not listen yet.
// It returns an error if ctx ends or the host denies the request.
func awaitHost(ctx context.Context, client discovery.ServerVersionInterface) error {
	logged := false
	err := wait.PollUntilContextCancel(ctx, hostRetryInterval, true, func(ctx context.Context) (bool, error) {
		_, err := client.ServerVersion()
		if err == nil || !unreachable(err) {
			return err == nil, err
		}
		if !logged {
			klog.FromContext(ctx).Info("Waiting for the host cluster before listening: it is unreachable", "err", err)
			logged = true
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("reading the version of the host cluster: %w", err)
	}
	return nil
}

// unreachable reports whether the request may succeed later.
func unreachable(err error) bool {
	var status apierrors.APIStatus
	return !errors.As(err, &status) || status.Status().Code >= http.StatusInternalServerError ||
		apierrors.IsTooManyRequests(err)
}

func (o CompletedOptions) turnOffMissing(ctx context.Context, client discovery.ServerResourcesInterface) error {
	admission, features := o.Recommended.Admission, o.Recommended.Features
	logger := klog.FromContext(ctx)
	for _, needs := range pluginResources {
		if slices.Contains(admission.DisablePlugins, needs.plugin) {
			continue
		}
		missing, err := missingResources(client, needs.version, needs.resources)
		if err != nil {
			return err
		}
		if len(missing) == 0 {
			continue
		}
		if slices.Contains(admission.EnablePlugins, needs.plugin) {
			return fmt.Errorf("--enable-admission-plugins=%s: the host cluster does not serve %s in %s, which the plugin "+
				"needs: omit the flag, and the plugin is enabled once the host serves them", needs.plugin,
				strings.Join(missing, ", "), needs.version)
		}
		logger.Info("Admission plugin is disabled: the host cluster does not serve the resources that it reads. Restart "+
			"this server after an upgrade of the host", "plugin", needs.plugin, "missing", missing, "version", needs.version)
		admission.DisablePlugins = append(admission.DisablePlugins, needs.plugin)
	}

	if !features.EnablePriorityAndFairness {
		return nil
	}
	missing, err := missingResources(client, flowcontrolv1.SchemeGroupVersion, fairnessResources)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		logger.Info("Priority and fairness is disabled: the host cluster does not serve its configuration. Requests are "+
			"limited by --max-requests-inflight and --max-mutating-requests-inflight only", "missing", missing, "version",
			flowcontrolv1.SchemeGroupVersion)
		features.EnablePriorityAndFairness = false
	}
	return nil
}

// missingResources returns the resources that the host does not serve in
// this version.
func missingResources(client discovery.ServerResourcesInterface, version schema.GroupVersion,
	resources []string) ([]string, error) {
	served, err := client.ServerResourcesForGroupVersion(version.String())
	if apierrors.IsNotFound(err) {
		return resources, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the resources that the host cluster serves in %s: %w", version, err)
	}
	var missing []string
	for _, resource := range resources {
		if !slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Name == resource }) {
			missing = append(missing, resource)
		}
	}
	return missing, nil
}
