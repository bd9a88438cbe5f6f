package resources

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	podsecurityapi "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

func TestPodSecurityRestricted(t *testing.T) {
	template := buildDeployment(t, newWebsite(withUsers("readers"))).Spec.Template

	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := podsecurityapi.LevelVersion{Level: podsecurityapi.LevelRestricted,
		Version: podsecurityapi.LatestVersion()}
	results := evaluator.EvaluatePod(restricted, &template.ObjectMeta, &template.Spec)
	if len(results) == 0 {
		t.Fatal("no checks ran")
	}
	for _, result := range results {
		if !result.Allowed {
			t.Errorf("%s: %s", result.ForbiddenReason, result.ForbiddenDetail)
		}
	}

	// The restricted profile does not require these fields, but the design does.
	for _, container := range slices.Concat(template.Spec.InitContainers, template.Spec.Containers) {
		if readOnly := container.SecurityContext.ReadOnlyRootFilesystem; readOnly == nil || !*readOnly {
			t.Errorf("%s can write to its root file system", container.Name)
		}
		if len(container.Resources.Limits) == 0 || len(container.Resources.Requests) == 0 {
			t.Errorf("%s lacks requests or limits", container.Name)
		}
	}
	for _, volume := range template.Spec.Volumes {
		if volume.EmptyDir != nil && volume.EmptyDir.SizeLimit == nil {
			t.Errorf("volume %s can fill the node", volume.Name)
		}
	}
	if token := template.Spec.AutomountServiceAccountToken; token == nil || *token {
		t.Error("the pod gets a token for the API server")
	}
}

// TestPlatformUserIDs: a platform that assigns IDs rejects pods with other ones.
func TestPlatformUserIDs(t *testing.T) {
	installation := testInstallation
	installation.PlatformUserIDs = true
	website := newWebsite()
	desired, err := Deployment(website, installation, mustNginxConfig(t, website))
	if err != nil {
		t.Fatal(err)
	}
	pod := typed[appsv1.Deployment](t, desired).Spec.Template.Spec
	if c := pod.SecurityContext; c.RunAsUser != nil || c.RunAsGroup != nil || c.FSGroup != nil || c.RunAsNonRoot == nil ||
		!*c.RunAsNonRoot {
		t.Errorf("the pod has %+v", c)
	}
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		if c := container.SecurityContext; c.RunAsUser != nil || c.RunAsGroup != nil || c.RunAsNonRoot == nil ||
			!*c.RunAsNonRoot {
			t.Errorf("container %s has %+v", container.Name, c)
		}
	}
}
