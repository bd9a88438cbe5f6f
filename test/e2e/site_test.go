package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/test/framework"
)

const (
	// syncPeriod is the shortest valid period of a Website.
	syncPeriod = 10 * time.Second
	// syncMargin is added to the period for a fetch: a few seconds, and more for a
	// small machine with concurrent tests. The default period is longer than both,
	// so an ignored period is detected.
	syncMargin = 40 * time.Second

	siteName = "site"

	// These are the ports of a pod, see resources.Deployment.
	httpPort, adminPort, metricsPort = 8080, 8081, 8082
	// commitHeader names the commit of every page.
	commitHeader = "Website-Commit"
)

// site is a Website and its repository.
type site struct {
	namespace, name, deployment string
	repository                  *repository
}

// newWebsite returns a Website of a repository, with a node port for the visitors
// and the shortest period.
func newWebsite(namespace string, r *repository, tweaks ...func(*v1beta1.Website)) *v1beta1.Website {
	return framework.NewWebsite(namespace, siteName, append([]func(*v1beta1.Website){func(w *v1beta1.Website) {
		w.Spec.Source.Git.Repository = r.url
		if r.ca != "" {
			w.Spec.Source.Git.CARef = &v1beta1.CAReference{ConfigMapName: r.ca, Key: caKey}
		}
		w.Spec.Service.Type = v1beta1.ServiceTypeNodePort
		w.Spec.Polling.PeriodSeconds = int32(syncPeriod / time.Second)
	}}, tweaks...)...)
}

func withPath(path string) func(*v1beta1.Website) {
	return func(w *v1beta1.Website) { w.Spec.Source.Path = path }
}

func withBranch(branch string) func(*v1beta1.Website) {
	return func(w *v1beta1.Website) { w.Spec.Source.Git.Ref = &v1beta1.GitReference{Branch: branch} }
}

func withSecret(name string) func(*v1beta1.Website) {
	return func(w *v1beta1.Website) { w.Spec.Source.Git.SecretRef = &v1beta1.SecretReference{Name: name} }
}

// newSite publishes the first release of a new repository and waits until it is
// served and recorded.
func newSite(t *testing.T, tweaks ...func(*v1beta1.Website)) *site {
	t.Helper()
	namespace := newNamespace(t)
	r := newRepository(t, "", namespace, "main")
	commit := r.release(t, "release-1")
	s := applySite(t, newWebsite(namespace, r, tweaks...), r)
	s.waitLive(t, commit)
	// Visitors may get the commit before the controller records it, as the release to roll back to.
	s.waitNewest(t, commit, v1beta1.ReleaseCauseSpec)
	return s
}

// exampleSite returns the site of "make up", for tests that only read it.
func exampleSite() *site {
	return &site{namespace: metav1.NamespaceDefault, name: "example", deployment: "example-website"}
}

// applySite applies a Website with kubectl.
func applySite(t *testing.T, w *v1beta1.Website, r *repository) *site {
	t.Helper()
	apply(t, w)
	s := &site{namespace: w.Namespace, name: w.Name, deployment: w.Spec.DeploymentName, repository: r}
	if s.deployment == "" {
		s.deployment = w.Name
	}
	return s
}

// kubectl runs kubectl in the site's namespace.
func (s *site) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	return framework.Kubectl(t, append([]string{"--namespace=" + s.namespace}, args...)...)
}

// patch changes the spec as users do with kubectl.
func (s *site) patch(t *testing.T, patch string) {
	t.Helper()
	write(t, "", "patch", "website", s.name, "--namespace="+s.namespace, "--type=merge", "-p", patch)
}

func (s *site) get(t *testing.T) *v1beta1.Website {
	t.Helper()
	websites := framework.Admin(t).Websites.WebsiteV1beta1().Websites(s.namespace)
	var w *v1beta1.Website
	// On a machine that runs all tests, etcd may not answer for seconds: 503.
	framework.WaitFor(t, "Website "+s.name+" is read", func(ctx context.Context) (err error) {
		w, err = websites.Get(ctx, s.name, metav1.GetOptions{})
		return err
	})
	return w
}

// url returns the URL for visitors, through the node port.
func (s *site) url(t *testing.T) string {
	t.Helper()
	var url string
	framework.WaitFor(t, "the site has a NodePort", func(ctx context.Context) (err error) {
		url, err = framework.Cluster.NodePortURL(ctx, s.namespace, s.deployment+"-npsvc")
		return err
	})
	return strings.TrimSuffix(url, "/")
}

// pods returns the pods that have not ended and are not terminating, oldest first.
func (s *site) pods(ctx context.Context, client kubernetes.Interface) ([]corev1.Pod, error) {
	list, err := client.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{LabelSelector: "controller=" + s.name})
	if err != nil {
		return nil, err
	}
	pods := slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool {
		return pod.DeletionTimestamp != nil || cached.HasEnded(pod.Status.Phase)
	})
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return pods, nil
}

// pod returns the only pod of the site, once it has an address.
func (s *site) pod(t *testing.T) corev1.Pod {
	t.Helper()
	var pod corev1.Pod
	client := framework.Admin(t).Kubernetes
	framework.WaitFor(t, "there is one pod with an address", func(ctx context.Context) error {
		pods, err := s.pods(ctx, client)
		if err != nil {
			return err
		}
		if len(pods) != 1 || pods[0].Status.PodIP == "" {
			return fmt.Errorf("there are %d", len(pods))
		}
		pod = pods[0]
		return nil
	})
	return pod
}

// waitLive waits until visitors get the commit.
func (s *site) waitLive(t *testing.T, commit string) {
	t.Helper()
	s.waitLiveWithin(t, framework.WaitTimeout, commit)
}

// syncLive is waitLive with a request to sync, for tests that are not about polling.
func (s *site) syncLive(t *testing.T, commit string) {
	t.Helper()
	s.mustPost(t, "sync", fmt.Sprintf(`{"commit":%q}`, commit), waitSync)
	s.waitLive(t, commit)
}

// waitLiveWithin waits until all replicas of the Website are ready and serve
// the commit, also through the node port.
func (s *site) waitLiveWithin(t *testing.T, timeout time.Duration, commit string) {
	t.Helper()
	client, websites := framework.Admin(t).Kubernetes, framework.Admin(t).Websites
	begin := time.Now()
	framework.WaitWithin(t, timeout, "commit "+commit+" is live", func(ctx context.Context) error {
		w, err := websites.WebsiteV1beta1().Websites(s.namespace).Get(ctx, s.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		pods, err := s.pods(ctx, client)
		if err != nil {
			return err
		}
		if want := int(ptr.Deref(w.Spec.Replicas, 1)); len(pods) != want {
			return fmt.Errorf("there are %d pods, want %d", len(pods), want)
		}
		for _, pod := range pods {
			if !ready(pod) {
				return fmt.Errorf("pod %s is not ready", pod.Name)
			}
			if got := adminGet(ctx, pod, adminPort, "/commit"); got.status != http.StatusOK || got.body != commit+"\n" {
				return fmt.Errorf("/commit of pod %s is %v", pod.Name, got)
			}
		}
		url, err := framework.Cluster.NodePortURL(ctx, s.namespace, s.deployment+"-npsvc")
		if err != nil {
			return err
		}
		if page := get(ctx, visitor, url); page.header.Get(commitHeader) != commit {
			return fmt.Errorf("%s is %v", url, page)
		}
		return nil
	})
	t.Logf("%s is live after %s", commit[:8], time.Since(begin).Round(100*time.Millisecond))
}

func ready(pod corev1.Pod) bool { return framework.PodReady(pod) }

// visitor makes a connection of its own for each request, as different
// visitors do, and follows no redirects.
var visitor = &http.Client{
	Timeout:       30 * time.Second,
	Transport:     &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// answer is a server's response, or the error of the request.
type answer struct {
	status int
	header http.Header
	body   string
	err    error
}

func (a answer) String() string {
	if a.err != nil {
		return a.err.Error()
	}
	return fmt.Sprintf("%d, %s %q: %.100q", a.status, commitHeader, a.header.Get(commitHeader), a.body)
}

func get(ctx context.Context, client *http.Client, url string) answer {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return answer{err: err}
	}
	response, err := client.Do(request)
	if err != nil {
		return answer{err: err}
	}
	body, err := io.ReadAll(response.Body)
	return answer{status: response.StatusCode, header: response.Header, body: string(body),
		err: errors.Join(err, response.Body.Close())}
}

// adminGet sends a request directly to a pod, as the controller and the kubelet do.
func adminGet(ctx context.Context, pod corev1.Pod, port int, path string) answer {
	if pod.Status.PodIP == "" {
		return answer{err: errors.New("the pod has no address yet")}
	}
	return get(ctx, visitor, "http://"+net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(port))+path)
}
