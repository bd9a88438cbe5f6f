package controller

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/test/bench"
	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// Run starts a cluster, measures, and stops the cluster. With an error, the report has the results
// until then.
func Run(ctx context.Context, options measure.Options) (measure.Report, error) {
	report := &Report{}
	if err := validate(options); err != nil {
		return report, err
	}
	return report, measure.Start(ctx, &report.Head, options,
		devcluster.Options{Node: devcluster.NodeSimulated, WithoutController: true, SyncedEtcd: true},
		func(ctx context.Context, run *measure.Run) error {
			e, err := newEnvironment(ctx, run)
			if err != nil {
				return err
			}
			counting, stop := context.WithCancel(ctx)
			var counter sync.WaitGroup
			counter.Go(func() { e.counter.run(counting) })
			defer counter.Wait()
			defer stop()
			results, err := rounds(ctx, e)
			report.Measurements = results.measurements(options)
			addGoals(report)
			return err
		})
}

// rounds measures all contenders in each round. With an error, the results are those until then.
func rounds(ctx context.Context, e *environment) (*results, error) {
	var chosen []*contender
	for _, c := range contenders {
		if len(e.Options.Targets) == 0 || slices.Contains(e.Options.Targets, c.name) {
			chosen = append(chosen, c)
		}
	}
	results := &results{}
	for round := range e.Options.Rounds {
		for _, i := range measure.Order(len(chosen), round, e.Options.Rounds) {
			c := chosen[i]
			namespace := fmt.Sprintf("bench-%d-%d", round, i)
			t := &trial{
				environment: e, contender: c, round: round, namespace: namespace,
				websites: websitesPath(c.apiVersion, namespace),
			}
			err := t.run(ctx)
			for _, s := range t.samples {
				results.add(c.name, s)
			}
			if err != nil {
				return results, fmt.Errorf("round %d: %w", round+1, err)
			}
		}
	}
	return results, nil
}

// newEnvironment prepares a started cluster.
func newEnvironment(ctx context.Context, run *measure.Run) (_ *environment, err error) {
	cluster := run.Cluster
	config := cluster.AdminConfig()
	e := &environment{
		Run: run, kubeconfigs: map[string]string{},
		processes: run.Processes("kube-apiserver", "website-apiserver", "etcd", "kube-controller-manager", "kube-scheduler",
			"kwok"),
		counter: &callCounter{path: cluster.AuditLog("kube-apiserver"), counts: map[string]calls{}},
	}
	for user, file := range map[string]string{productUser: "bench-product.kubeconfig",
		scaffoldUser: "bench-scaffold.kubeconfig"} {
		e.kubeconfigs[user], e.counter.counts[user] = filepath.Join(cluster.Dir(), file), calls{}
		// The groups of a ServiceAccount: priority and fairness treats both alike.
		if err := cluster.WriteKubeconfig(e.kubeconfigs[user], user, "system:serviceaccounts",
			"system:serviceaccounts:website-system", "system:authenticated"); err != nil {
			return nil, err
		}
	}
	if e.client, err = measure.NewClient(config, 1); err != nil {
		return nil, err
	}
	insecure := rest.CopyConfig(config)
	// Its requests have URLs. The certificate of website-controller is its own, and lasts as long as its process.
	insecure.Insecure, insecure.CAData = true, nil
	if e.scraper, err = measure.NewClient(insecure, 1); err != nil {
		return nil, err
	}
	e.scraper.URL = ""
	config.ContentType, config.AcceptContentTypes = k8sruntime.ContentTypeProtobuf, k8sruntime.ContentTypeProtobuf
	if e.kube, err = kubernetes.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	return e, e.prepareScaffold(ctx)
}

// prepareScaffold creates the definition, and allows the scaffold everything: its roles are
// not under test.
func (e *environment) prepareScaffold(ctx context.Context) error {
	if err := e.client.CreateDefinition(ctx, bench.WebsiteCRD); err != nil {
		return err
	}
	binding := rbacv1ac.ClusterRoleBinding("bench-scaffold").
		WithRoleRef(rbacv1ac.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("ClusterRole").WithName("cluster-admin")).
		WithSubjects(rbacv1ac.Subject().WithAPIGroup(rbacv1.GroupName).WithKind(rbacv1.UserKind).WithName(scaffoldUser))
	if _, err := e.kube.RbacV1().ClusterRoleBindings().Apply(ctx, binding,
		metav1.ApplyOptions{FieldManager: "bench", Force: true}); err != nil {
		return fmt.Errorf("binding the role of the scaffold: %w", err)
	}
	return await(ctx, "the API of the definition answers", startTimeout, func() error {
		_, err := e.request(ctx, http.MethodGet, websitesPath("definition.example.com/v1beta1", metav1.NamespaceDefault), "",
			nil)
		return err
	})
}

// request sends a request to kube-apiserver and returns the body of the response.
func (e *environment) request(ctx context.Context, method, path, contentType string, body []byte) ([]byte, error) {
	return e.client.Read(ctx, measure.Request{Method: method, Path: path, ContentType: contentType, Body: body})
}
