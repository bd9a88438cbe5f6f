package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2/ktesting"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/options"
	"github.com/kubesites/website-apiserver/pkg/controller/podprobe"
	websitescheme "github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned/scheme"
)

// apiServer is an API server with some Websites, for a complete controller. It accepts writes without
// effect, and its watches send no events.
type apiServer struct {
	websites []v1beta1.Website
	pods     []corev1.Pod
	leases   leaseServer
	// first is called with every request before it is answered. It returns true if it has answered
	// the request itself. It may be nil.
	first func(w http.ResponseWriter, r *http.Request, info *request.RequestInfo) bool
}

// newWebsite returns a Website of a name.
func newWebsite(name string) v1beta1.Website {
	return v1beta1.Website{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-of-" + name), Generation: 1,
			ResourceVersion: "1"},
		Spec: v1beta1.WebsiteSpec{
			Source: v1beta1.WebsiteSource{Git: &v1beta1.GitSource{Repository: "https://example.com/site.git",
				Submodules: v1beta1.SubmodulesNone}},
			Polling:        v1beta1.WebsitePolling{Mode: v1beta1.PollingModePeriodic, PeriodSeconds: 60, TimeoutSeconds: 120},
			Service:        v1beta1.WebsiteService{Type: v1beta1.ServiceTypeNodePort},
			DeploymentName: name,
			Replicas:       ptr.To[int32](1),
		},
	}
}

// newPod returns a ready pod of a Website.
func newPod(website string) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: website + "-hash-pod", Namespace: "default", UID: types.UID("uid-of-the-pod-of-" + website),
			Labels: map[string]string{
				"app": "website-nginx", "controller": website, "app.kubernetes.io/managed-by": "website-controller",
				appsv1.DefaultDeploymentUniqueLabelKey: "hash",
			},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: website + "-hash",
				Controller: ptr.To(true)}},
		},
		Status: corev1.PodStatus{
			// The controller must not probe a loopback address.
			Phase: corev1.PodRunning, PodIP: "127.0.0.1",
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
}

var requestInfo = &request.RequestInfoFactory{
	APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api"),
}

// listKinds maps the resources that the controller lists to their list kinds.
var listKinds = map[string]string{
	"configmaps": "ConfigMapList", "services": "ServiceList", "deployments": "DeploymentList",
	"replicasets":          "ReplicaSetList",
	"poddisruptionbudgets": "PodDisruptionBudgetList",
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info, err := requestInfo.NewRequestInfo(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if s.first != nil && s.first(w, r, info) {
		return
	}
	if !info.IsResourceRequest {
		answer(w, metav1.APIResourceList{GroupVersion: v1beta1.SchemeGroupVersion.String()})
		return
	}
	if info.Resource == "leases" {
		s.leases.ServeHTTP(w, r)
		return
	}
	resource := schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}
	list := metav1.TypeMeta{APIVersion: schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}.String(),
		Kind: listKinds[info.Resource]}
	switch info.Verb {
	case "watch":
		if r.URL.Query().Get("sendInitialEvents") == "true" {
			refuse(w, apierrors.NewInvalid(schema.GroupKind{}, "", nil))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case "list":
		switch info.Resource {
		case "websites":
			list.Kind = "WebsiteList"
			answer(w, v1beta1.WebsiteList{TypeMeta: list, ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: s.websites})
		case "pods":
			list.Kind = "PodList"
			answer(w, corev1.PodList{TypeMeta: list, ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: s.pods})
		default:
			answer(
				w, map[string]any{"apiVersion": list.APIVersion, "kind": list.Kind,
					"metadata": map[string]string{"resourceVersion": "1"}, "items": []any{}},
			)
		}
	case "get":
		refuse(w, apierrors.NewNotFound(resource, info.Name))
	case "patch":
		// The response is the applied object as if it were stored.
		var object map[string]any
		if err := json.NewDecoder(r.Body).Decode(&object); err != nil {
			refuse(w, apierrors.NewBadRequest(err.Error()))
			return
		}
		metadata := object["metadata"].(map[string]any)
		metadata["resourceVersion"] = "2"
		metadata["uid"] = fmt.Sprintf("uid-of-%s-%s", info.Resource, info.Name)
		answer(w, object)
	default:
		object, err := sent(r)
		if err != nil {
			refuse(w, apierrors.NewBadRequest(err.Error()))
			return
		}
		answer(w, object)
	}
}

// sent decodes the object in a request from JSON or protobuf.
func sent(r *http.Request) (runtime.Object, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	decode := scheme.Codecs.UniversalDeserializer().Decode
	if strings.HasPrefix(r.URL.Path, "/apis/"+v1beta1.GroupName) {
		decode = websitescheme.Codecs.UniversalDeserializer().Decode
	}
	object, kind, err := decode(body, nil, nil)
	if err == nil {
		object.GetObjectKind().SetGroupVersionKind(*kind)
	}
	return object, err
}

func answer(w http.ResponseWriter, object any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object)
}

func refuse(w http.ResponseWriter, err *apierrors.StatusError) {
	status := err.ErrStatus
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status)
}

// newOptions serves the API over HTTP/2, as API servers do, and returns controller flags for it. By
// default the controller does not probe pods and opens no port; tweaks change that.
func (s *apiServer) newOptions(t *testing.T, tweaks ...func(*options.Options)) *options.Options {
	t.Helper()
	s.leases.changed = func(string) {}
	server := httptest.NewUnstartedServer(s)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	o, err := options.NewOptions()
	if err != nil {
		t.Fatal(err)
	}
	o.Kubeconfig = writeKubeconfig(t, server.URL)
	o.LeaderElection.LeaderElect = false
	o.SecureServing.BindPort = 0
	o.CommitObservation = string(podprobe.None)
	for _, tweak := range tweaks {
		tweak(o)
	}
	return o.Complete()
}

// start starts a controller. The returned function stops it, and so does the end of the test.
func start(t *testing.T, ctx context.Context, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		if err := run(ctx); err != nil {
			t.Errorf("the controller ended with: %v", err)
		}
	})
	stop = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(stop)
	return stop
}

// startInstrumented starts a controller without tracing.
func startInstrumented(t *testing.T, o *options.Options, instruments Instruments) (stop func()) {
	t.Helper()
	_, ctx := ktesting.NewTestContext(t)
	return start(t, ctx, func(ctx context.Context) error { return RunInstrumented(ctx, o, instruments) })
}

// await waits for an event that is expected immediately, with a timeout for slow machines.
func await(t *testing.T, what string, happened <-chan struct{}) {
	t.Helper()
	select {
	case <-happened:
	case <-time.After(patience):
		t.Fatalf("waited %v until %s", patience, what)
	}
}
