package status

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/validation"
	"github.com/kubesites/website-apiserver/pkg/controller/routeprobe"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
)

// largest returns an Input whose parts have their maximum size. Messages consist of the text.
func largest(text string) *Input {
	in := newInput()
	name := func(i, length int) string { return fmt.Sprintf("%0*d", length, i) }
	website := in.Website
	website.Name, website.Namespace = name(0, 63), name(0, 63)
	website.Spec.Hosts, website.Status.Hosts = nil, nil
	in.Routing = &Routing{Results: map[string]routeprobe.Result{}, UnusedCertificate: text}
	for i := range 64 {
		host := name(i, 218) + ".example.com"
		website.Spec.Hosts = append(website.Spec.Hosts, v1beta1.WebsiteHost{Name: host})
		in.Routing.Results[host] = routeprobe.Result{
			URL: "https://" + host + ":65535", Commit: commitA, CertificateExpiration: testNow, DNS: text,
		}
	}
	in.Previews = &Previews{Problem: problem.NameTaken("", false, "%s", text)}
	for i := range 100 {
		in.Previews.Reported = append(in.Previews.Reported, v1beta1.WebsitePreviewStatus{
			Branch: name(i, 255), WebsiteName: name(i, 63), Commit: strings.Repeat("b", 64),
			LastCommitTime: metav1.NewTime(testNow),
		})
	}
	in.Problem, in.LeftBehind = problem.NameTaken("", false, "%s", text), text
	for i := range 10 {
		website.Status.History = append(website.Status.History, v1beta1.WebsiteRelease{
			Commit: strings.Repeat("b", 62) + name(i, 2), Subject: strings.Repeat(`"`, 200), Author: strings.Repeat(`"`, 100),
			PublishedTime: metav1.NewTime(testNow), ObservedTime: new(metav1.NewTime(testNow)),
			Cause: v1beta1.ReleaseCauseRollback,
		})
	}
	for i := range in.Pods {
		in.Pods[i].Subject, in.Pods[i].Author = strings.Repeat(`"`, 200), strings.Repeat(`"`, 100)
	}
	in.PodSelector = map[string]string{"app": "website-nginx", "controller": website.Name,
		appsv1.DefaultDeploymentUniqueLabelKey: name(0, 63)}
	in.Service.Ingress = slices.Repeat(
		[]corev1.LoadBalancerIngress{{Hostname: name(0, 240) + ".example.com"}}, 5,
	)
	return in
}

// TestTheLargestStatusFits validates the largest statuses as the API server does.
func TestTheLargestStatusFits(t *testing.T) {
	// ofOthers returns the maximum number of conditions of other clients.
	ofOthers := func(number int) (found []metav1.Condition) {
		for i := range number {
			found = append(found, metav1.Condition{Type: fmt.Sprint("Others", i), Status: "True", Reason: "R",
				Message: strings.Repeat("m", 4<<10), LastTransitionTime: metav1.NewTime(testNow)})
		}
		return found
	}
	variants := map[string]func(*Input){
		"hosts are routed": func(*Input) {},
		"hosts are not routed": func(in *Input) {
			for host, result := range in.Routing.Results {
				result.Failure = result.DNS
				in.Routing.Results[host] = result
			}
		},
		"hosts are taken": func(in *Input) {
			in.Routing.Taken = map[string]string{}
			for host, result := range in.Routing.Results {
				in.Routing.Taken[host] = result.DNS
			}
		},
		"an obstacle": func(in *Input) {
			in.Routing = &Routing{Obstacle: &Obstacle{Reason: v1beta1.WebsiteReasonRouteNotAccepted, Message: in.LeftBehind}}
		},
		"pods are rejected": func(in *Input) {
			in.Problem = nil
			in.Deployment.Status.AvailableReplicas = 0
			in.Deployment.Status.ReplicaFailure = "is forbidden " + in.LeftBehind
		},
		"conditions of other clients": func(in *Input) {
			in.Website.Status.Conditions = append(in.Website.Status.Conditions, ofOthers(23)...)
			for _, host := range in.Website.Spec.Hosts[:8] {
				in.Website.Status.Hosts = append(in.Website.Status.Hosts,
					v1beta1.WebsiteHostStatus{Name: host.Name, Conditions: ofOthers(2)})
			}
		},
	}
	texts := map[string]string{"plain": "a", "quotes": `"`, "control characters": "\x01", "separators": "\u2028",
		"invalid UTF-8": "\xff", "wide": "\U0001f600"}
	for variant, change := range variants {
		for kind, text := range texts {
			t.Run(variant+", "+kind, func(t *testing.T) {
				in := largest(strings.Repeat(text, 8<<10))
				change(in)
				computed := Compute(in)
				if condition := meta.FindStatusCondition(computed.Conditions, v1beta1.WebsiteReady); condition == nil {
					t.Fatal("there is no condition Ready")
				}
				t.Logf("%d bytes", validation.StatusSize(&computed))
				if got := len(computed.Hosts) + len(computed.Previews) + len(computed.History); got != 174 {
					t.Errorf("%d hosts, %d previews and %d releases, want 64, 100 and 10",
						len(computed.Hosts), len(computed.Previews), len(computed.History))
				}
				before, after := &v1beta1.Website{ObjectMeta: in.Website.ObjectMeta}, in.Website.DeepCopy()
				after.Status = computed
				var old, updated website.Website
				if err := utilerrors.NewAggregate([]error{
					website.Convert_v1beta1_Website_To_website_Website(before, &old, nil),
					website.Convert_v1beta1_Website_To_website_Website(after, &updated, nil),
				}); err != nil {
					t.Fatal(err)
				}
				old.ResourceVersion, updated.ResourceVersion = "1", "1"
				if errs := validation.ValidateWebsiteStatusUpdate(&updated, &old); len(errs) > 0 {
					t.Errorf("the API server rejects it: %.1000v", errs)
				}
				ready := meta.FindStatusCondition(computed.Conditions, v1beta1.WebsiteReady)
				if kind == "plain" && variant != "conditions of other clients" && len(ready.Message) < 1000 {
					t.Errorf("the message of Ready has %d bytes: it is shortened more than necessary", len(ready.Message))
				}
			})
		}
	}
}
