package status

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// withRouted reports the condition Routed with a reason.
func withRouted(reason string) func(*Input) {
	return func(in *Input) {
		in.Website.Spec.Hosts = hostsOf(shop)
		in.Routing = &Routing{Unknown: "website-controller has just started"}
		routed := condition(v1beta1.WebsiteRouted, metav1.ConditionFalse, reason, "x")
		routed.ObservedGeneration = in.Website.Generation
		meta.SetStatusCondition(&in.Website.Status.Conditions, routed)
	}
}

// later reports a status, and changes its input after some time.
func later(in *Input, after time.Duration, tweaks ...func(*Input)) {
	in.Website.Status = Compute(in)
	in.Now = in.Now.Add(after)
	for _, tweak := range tweaks {
		tweak(in)
	}
}

// TestRemedies makes each reason of the condition Routed last, and checks the conditions before and
// after the deadline.
func TestRemedies(t *testing.T) {
	type outcome struct {
		begin, end string
		ready      bool
	}
	routed := outcome{ready: true}
	waiting := func(reason string) outcome { return outcome{"Reconciling/" + reason, "Reconciling/" + reason, true} }
	inTime := func(reason string) outcome { return outcome{"Reconciling/" + reason, "Stalled/" + reason, false} }
	want := map[string]outcome{
		"HostsRouted": routed, "HostRouted": routed, "HostNotRequested": routed,
		"CertificateNotUsed": routed,
		// DNS may lead to a proxy in front of the Gateway.
		"DNSElsewhere": routed,

		"RoutePending": waiting("RoutePending"), "HostUnreachable": waiting("HostUnreachable"),

		"GatewayAPIMissing": inTime("GatewayAPIMissing"), "GatewayNotFound": inTime("GatewayNotFound"),
		"GatewayNotProgrammed": inTime("GatewayNotProgrammed"), "RouteNotAccepted": inTime("RouteNotAccepted"),
		"ListenerConflicted": inTime("ListenerConflicted"), "ReferencesNotResolved": inTime("ReferencesNotResolved"),
		"RouteNotWritten": inTime("RouteNotWritten"), "CertificateInvalid": inTime("CertificateInvalid"),
		"RedirectUnavailable": inTime("RedirectUnavailable"),

		"HostTaken": {"Stalled/HostTaken", "Stalled/HostTaken", false},
	}
	reasons := reasonsOfHosts(t)
	if len(reasons) != len(want) {
		t.Errorf("%d reasons of hosts, and %d in the table", len(reasons), len(want))
	}
	for _, reason := range reasons {
		t.Run(reason, func(t *testing.T) {
			in := newInput(withRouted(reason))
			begin := Compute(in)
			checkAbnormal(t, in, &begin)
			later(in, hostsDeadline-time.Second)
			if before := Compute(in); abnormal(&before) != abnormal(&begin) {
				t.Errorf("before the deadline %q, in the beginning %q", abnormal(&before), abnormal(&begin))
			}
			in.Now = in.Now.Add(time.Second)
			end := Compute(in)
			checkAbnormal(t, in, &end)
			ready := meta.IsStatusConditionTrue(end.Conditions, v1beta1.WebsiteReady)
			if got := (outcome{abnormal(&begin), abnormal(&end), ready}); got != want[reason] {
				t.Errorf("got %+v, want %+v", got, want[reason])
			}
			if ready := meta.FindStatusCondition(end.Conditions, v1beta1.WebsiteReady); ready.Status == metav1.ConditionFalse &&
				ready.Reason != reason {
				t.Errorf("Ready is False because of %s", ready.Reason)
			}
		})
	}
}

// reasonsOfHosts returns the constants of the paragraph of reasons.go that begins with HostsRouted.
func reasonsOfHosts(t *testing.T) []string {
	t.Helper()
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, filepath.Join("..", "..", "..", "apis", "website", "v1beta1", "reasons.go"),
		nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var reasons []string
	previous := 0
	ast.Inspect(parsed, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		isNext := len(reasons) > 0 && files.Position(spec.Doc.Pos()).Line == previous+1
		if value == v1beta1.WebsiteReasonHostsRouted || isNext {
			reasons, previous = append(reasons, value), files.Position(spec.End()).Line
		}
		return true
	})
	return reasons
}

// TestHostsDeadline: each reason has its own start, which a later controller knows.
func TestHostsDeadline(t *testing.T) {
	const most, rest = hostsDeadline - time.Minute, time.Minute
	missing := withRouted(v1beta1.WebsiteReasonGatewayNotFound)
	changed := func(in *Input) {
		in.Website.Generation++
		missing(in)
	}
	replicas := func(replicas int32) func(*Input) { return func(in *Input) { withReplicas(replicas)(in.Website) } }
	rolling := func(in *Input) { in.Deployment.Status.UpdatedReplicas = 1 }
	rolled := func(in *Input) { in.Deployment.Status.UpdatedReplicas = 2 }
	for name, test := range map[string]struct {
		do    func(*Input)
		want  string
		ready bool
	}{
		"lasts": {func(in *Input) { later(in, most); later(in, rest) }, "Stalled/GatewayNotFound", false},
		"another reason before": {func(in *Input) {
			withRouted(v1beta1.WebsiteReasonHostUnreachable)(in)
			later(in, hostsDeadline, missing)
			later(in, most)
		}, "Reconciling/GatewayNotFound", true},
		"another one meanwhile": {func(in *Input) {
			later(in, most, withRouted(v1beta1.WebsiteReasonRoutePending))
			later(in, time.Second, missing)
			later(in, rest)
		}, "Reconciling/GatewayNotFound", true},
		"the spec changes": {func(in *Input) { later(in, most, changed); later(in, rest) },
			"Reconciling/GatewayNotFound", true},
		"the spec changes later": {func(in *Input) {
			later(in, hostsDeadline)
			later(in, time.Second, changed)
		}, "Reconciling/GatewayNotFound", false},
		"pods are replaced before": {func(in *Input) {
			rolling(in)
			later(in, hostsDeadline, rolled)
			later(in, most)
		}, "Reconciling/GatewayNotFound", true},
		"pods are replaced later": {func(in *Input) {
			later(in, hostsDeadline)
			later(in, time.Second, rolling)
		}, "Stalled/GatewayNotFound", false},
		"pods are added later": {func(in *Input) {
			later(in, hostsDeadline)
			later(in, time.Second, replicas(5))
		}, "Stalled/GatewayNotFound", false},
		"pods do not start": {func(in *Input) {
			later(in, hostsDeadline)
			later(in, time.Second, broken(waiting("ErrImagePull", "")))
		}, "Reconciling/ImageUnavailable", false},
		"the Gateway is created later": {func(in *Input) {
			later(in, hostsDeadline)
			later(in, time.Second, withRouted(v1beta1.WebsiteReasonRoutePending))
		}, "Reconciling/RoutePending", false},
		"the hosts are routed later": {func(in *Input) {
			later(in, hostsDeadline)
			later(in, time.Second, withRouted(v1beta1.WebsiteReasonHostsRouted))
		}, "", true},
		"the hosts are removed later": {func(in *Input) {
			later(in, hostsDeadline)
			later(in, time.Second, func(in *Input) { in.Routing = nil })
		}, "", true},
		"offline": {func(in *Input) {
			broken(func(*Pod) {})(in)
			replicas(0)(in)
			in.Deployment.Status, in.Pods = newInput().Deployment.Status, nil
			in.Deployment.Status.Replicas, in.Deployment.Status.UpdatedReplicas, in.Deployment.Status.AvailableReplicas = 0, 0, 0
			later(in, hostsDeadline)
		}, "", true},
		"taken while pods start": {func(in *Input) {
			rolling(in)
			withRouted(v1beta1.WebsiteReasonHostTaken)(in)
		}, "Stalled/HostTaken", false},
		"taken, the change is not observed": {func(in *Input) {
			withRouted(v1beta1.WebsiteReasonHostTaken)(in)
			in.Deployment.Generation = 2
		}, "Reconciling/RolloutInProgress", false},
	} {
		t.Run(name, func(t *testing.T) {
			in := newInput(missing)
			test.do(in)
			status := Compute(in)
			ready := meta.IsStatusConditionTrue(status.Conditions, v1beta1.WebsiteReady)
			if abnormal(&status) != test.want || ready != test.ready {
				t.Errorf("got %q, Ready is %t; want %q, %t", abnormal(&status), ready, test.want, test.ready)
			}
			serves := test.want != "Reconciling/"+v1beta1.WebsiteReasonImageUnavailable
			if meta.IsStatusConditionTrue(status.Conditions, v1beta1.WebsiteAvailable) != serves {
				t.Errorf("Available depends on hosts: %+v", status.Conditions)
			}
			checkAbnormal(t, in, &status)
		})
	}
}

// TestHostsAreRechecked: the deadline passes without an event.
func TestHostsAreRechecked(t *testing.T) {
	in := newInput(withRouted(v1beta1.WebsiteReasonGatewayNotFound))
	if got := recheck(in); got != hostsDeadline {
		t.Errorf("checked again after %v in the beginning", got)
	}
	later(in, 7*time.Minute)
	if got := recheck(in); got != hostsDeadline-7*time.Minute {
		t.Errorf("checked again after %v later", got)
	}
	later(in, 3*time.Minute)
	if got := recheck(in); got != 0 {
		t.Errorf("checked again after %v when it is Stalled", got)
	}
	if got := recheck(newInput(withRouted(v1beta1.WebsiteReasonRoutePending))); got != 0 {
		t.Errorf("checked again after %v while another controller has to act", got)
	}
}
