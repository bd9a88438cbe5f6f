package registration

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/fake"
)

var testService = Service{Namespace: "website-system", Name: "website-apiserver", Port: 443}

func TestParseService(t *testing.T) {
	tests := map[string]struct {
		want  Service
		error string
	}{
		"website-system/website-apiserver:443": {want: testService},
		"website-apiserver:443":                {error: "must be NAMESPACE/NAME:PORT"},
		"website-system/website-apiserver":     {error: "must be NAMESPACE/NAME:PORT"},
		"website-system/website-apiserver:":    {error: "the port must be a number"},
		"website-system/website-apiserver:0":   {error: "must be between 1 and 65535"},
		"website-system/Website:443":           {error: "DNS-1035"},
		"/website-apiserver:443":               {error: "RFC 1123"},
	}
	for text, test := range tests {
		t.Run(text, func(t *testing.T) {
			got, err := ParseService(text)
			if test.error == "" {
				if err != nil || got != test.want || got.String() != text {
					t.Errorf("ParseService = %v, %v, want %v", got, err, test.want)
				}
			} else if err == nil || !strings.Contains(err.Error(), test.error) {
				t.Errorf("ParseService = %v, want an error with %q", err, test.error)
			}
		})
	}
}

// newAPIService returns an APIService of the version v1beta1 as apply writes it.
func newAPIService(tweaks ...func(*apiregistrationv1.APIService)) *apiregistrationv1.APIService {
	port := testService.Port
	s := &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: "v1beta1.mycontroller.nevermosby.io"},
		Spec: apiregistrationv1.APIServiceSpec{
			Service: &apiregistrationv1.ServiceReference{Namespace: testService.Namespace, Name: testService.Name, Port: &port},
			Group:   "mycontroller.nevermosby.io", Version: "v1beta1", CABundle: []byte("ca"),
			GroupPriorityMinimum: groupPriority, VersionPriority: 20,
		},
	}
	for _, tweak := range tweaks {
		tweak(s)
	}
	return s
}

func TestApply(t *testing.T) {
	const name = "v1beta1.mycontroller.nevermosby.io"
	tests := map[string]struct {
		current *apiregistrationv1.APIService
		applied bool
		error   string
	}{
		"missing": {nil, true, ""},
		"current": {newAPIService(), false, ""},
		"another bundle": {newAPIService(func(s *apiregistrationv1.APIService) { s.Spec.CABundle = []byte("former") }), true,
			""},
		"not verified": {newAPIService(func(s *apiregistrationv1.APIService) { s.Spec.InsecureSkipTLSVerify = true }), true,
			""},
		"local": {newAPIService(func(s *apiregistrationv1.APIService) { s.Spec.Service = nil }), true, ""},
		"of a CustomResourceDefinition": {newAPIService(func(s *apiregistrationv1.APIService) {
			s.Labels = map[string]string{autoManaged: "true"}
		}), false, "belongs to a CustomResourceDefinition"},
	}
	for test, tt := range tests {
		t.Run(test, func(t *testing.T) {
			client := fake.NewClientset()
			if tt.current != nil {
				client = fake.NewClientset(tt.current)
			}
			r := New(Config{Service: testService, APIServices: client.ApiregistrationV1().APIServices()})
			err := r.apply(t.Context(), []byte("ca"))
			if (err == nil) != (tt.error == "") || err != nil && !strings.Contains(err.Error(), tt.error) {
				t.Fatalf("apply = %v, want %q", err, tt.error)
			}
			applied := false
			for _, action := range client.Actions() {
				applied = applied || action.GetVerb() == "patch" &&
					strings.HasSuffix(action.(interface{ GetName() string }).GetName(), name)
			}
			if applied != tt.applied {
				t.Errorf("applied: %t", applied)
			}
			if !applied {
				return
			}
			got, err := client.ApiregistrationV1().APIServices().Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if want := newAPIService().Spec; !reflect.DeepEqual(got.Spec, want) {
				t.Errorf("applied %+v, want %+v", got.Spec, want)
			}
		})
	}
}

// TestApplyDuringAnImport registers nothing beside a CustomResourceDefinition, and only the
// version that was handed over until the import is complete.
func TestApplyDuringAnImport(t *testing.T) {
	handedOver := func(s *apiregistrationv1.APIService) {
		s.Name, s.Spec.Version, s.Spec.Service = "v1alpha1.mycontroller.nevermosby.io", "v1alpha1", nil
	}
	tests := map[string]struct {
		tweak func(*apiregistrationv1.APIService)
		want  []string
		error string
	}{
		"served by the definition": {
			tweak: func(s *apiregistrationv1.APIService) { s.Labels = map[string]string{autoManaged: "true"} },
			error: "website-apiserver import",
		},
		"handed over": {
			tweak: func(s *apiregistrationv1.APIService) {
				s.Annotations = map[string]string{AnnotationImport: "InProgress"}
			},
			want: []string{"v1alpha1.mycontroller.nevermosby.io"},
		},
		"complete": {
			tweak: func(*apiregistrationv1.APIService) {},
			want:  []string{"v1alpha1.mycontroller.nevermosby.io", "v1beta1.mycontroller.nevermosby.io"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(newAPIService(handedOver, tt.tweak))
			apiServices := client.ApiregistrationV1().APIServices()
			err := New(Config{Service: testService, APIServices: apiServices}).apply(t.Context(), []byte("ca"))
			if (err == nil) != (tt.error == "") || err != nil && !strings.Contains(err.Error(), tt.error) {
				t.Fatalf("apply = %v, want %q", err, tt.error)
			}
			list, err := apiServices.List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, item := range list.Items {
				if item.Spec.Service != nil {
					got = append(got, item.Name)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("registered %v, want %v", got, tt.want)
			}
		})
	}
}

// TestExisting: a server without permission to create APIServices updates existing ones.
func TestExisting(t *testing.T) {
	client := fake.NewClientset(newAPIService(func(s *apiregistrationv1.APIService) { s.Spec.CABundle = nil }))
	apiServices := client.ApiregistrationV1().APIServices()
	if err := New(Config{Service: testService, APIServices: apiServices, Existing: true}).apply(t.Context(),
		[]byte("ca")); err != nil {
		t.Fatal(err)
	}
	list, err := apiServices.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || string(list.Items[0].Spec.CABundle) != "ca" {
		t.Errorf("the APIServices are %+v, %v, want one with the CA bundle", list.Items, err)
	}
}

func TestUninstallSparesOthers(t *testing.T) {
	other := newAPIService(func(s *apiregistrationv1.APIService) { s.Spec.Service.Name = "other" })
	client := fake.NewClientset(other)
	deleted, err := deleteAPIServices(t.Context(), client.ApiregistrationV1().APIServices(), testService)
	if err != nil || len(deleted) > 0 {
		t.Errorf("deleteAPIServices = %v, %v, want nothing", deleted, err)
	}
	client = fake.NewClientset(newAPIService())
	if deleted, err = deleteAPIServices(t.Context(), client.ApiregistrationV1().APIServices(), testService); err != nil ||
		len(deleted) != 1 {
		t.Errorf("deleteAPIServices = %v, %v, want one", deleted, err)
	}
}

// The garbage collector must watch Websites before the API is removed.
func TestUninstallWaits(t *testing.T) {
	for name, tt := range map[string]struct {
		status apiregistrationv1.ConditionStatus
		age    time.Duration
		want   time.Duration
	}{
		"just registered": {apiregistrationv1.ConditionTrue, 30 * time.Second, time.Minute},
		"for long":        {apiregistrationv1.ConditionTrue, time.Hour, 0},
		"an outage":       {apiregistrationv1.ConditionFalse, time.Second, 0},
		"never responded": {apiregistrationv1.ConditionUnknown, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				current := newAPIService(func(s *apiregistrationv1.APIService) {
					s.Status.Conditions = []apiregistrationv1.APIServiceCondition{{
						Type: apiregistrationv1.Available, Status: tt.status, LastTransitionTime: metav1.NewTime(start.Add(-tt.age)),
					}}
				})
				client := fake.NewClientset(current)
				if err := waitForAge(t.Context(), client.ApiregistrationV1().APIServices(), testService,
					90*time.Second); err != nil {
					t.Fatal(err)
				}
				if waited := time.Since(start); waited != tt.want {
					t.Errorf("waited %s, want %s", waited, tt.want)
				}
			})
		})
	}
}
