package controller

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/test/bench"
	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// Run starts a cluster, measures, and stops the cluster. With an error, the report has what was measured
// until then, or is nil.
func Run(ctx context.Context, options Options) (report *Report, err error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	begin := time.Now()
	progress := func(format string, args ...any) {
		fmt.Fprintf(options.Progress, "[%4.0f s] %s\n", time.Since(begin).Seconds(), fmt.Sprintf(format, args...))
	}
	report = &Report{Options: options, CPUs: runtime.NumCPU(), Go: runtime.Version(),
		Begin: begin.UTC().Truncate(time.Second), LoadBefore: measure.LoadAverage()}
	progress("starting a cluster")
	cluster, err := devcluster.Up(ctx, devcluster.Options{Node: devcluster.NodeSimulated, WithoutController: true,
		SyncedEtcd: true, Progress: options.Progress})
	if err != nil {
		return nil, err
	}
	defer func() {
		if stopped := cluster.Stop(context.WithoutCancel(ctx)); err == nil {
			err = stopped
		}
	}()
	progress("the cluster runs: KUBECONFIG=%s", cluster.Kubeconfig())
	e, err := newEnvironment(ctx, cluster)
	if err != nil {
		return nil, err
	}
	e.progress = progress
	counting, stop := context.WithCancel(ctx)
	var counter sync.WaitGroup
	counter.Go(func() { e.counter.run(counting) })
	defer counter.Wait()
	defer stop()

	results, failure := rounds(ctx, e, options)
	if failure != nil {
		report.Failure = failure.Error()
	}
	report.Measurements = results.measurements(options)
	report.Goals = goals(report)
	report.LoadAfter, report.Seconds = measure.LoadAverage(), time.Since(begin).Seconds()
	return report, failure
}

// rounds measures all contenders in each round. With an error, the results are those until then.
func rounds(ctx context.Context, e *environment, options Options) (*results, error) {
	var chosen []*contender
	for _, c := range contenders {
		if slices.Contains(options.Contenders, c.name) {
			chosen = append(chosen, c)
		}
	}
	results := &results{}
	for round := range options.Rounds {
		for _, i := range bench.Order(len(chosen), round, options.Rounds) {
			c := chosen[i]
			namespace := fmt.Sprintf("bench-%d-%d", round, i)
			t := &trial{
				environment: e, options: options, contender: c, round: round, namespace: namespace,
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
func newEnvironment(ctx context.Context, cluster *devcluster.Cluster) (*environment, error) {
	config, err := cluster.AdminConfig()
	if err != nil {
		return nil, err
	}
	e := &environment{
		repoDir: cluster.RepoDir(), logs: cluster.Dir(), kubeconfigs: map[string]string{}, processes: measure.Processes{},
		counter: &callCounter{path: cluster.AuditLog("kube-apiserver"), counts: map[string]calls{}},
	}
	for _, name := range []string{"kube-apiserver", "website-apiserver", "etcd", "kube-controller-manager",
		"kube-scheduler", "kwok"} {
		e.processes[name] = cluster.Process(name).PID()
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
	if e.client, err = newClient(config); err != nil {
		return nil, err
	}
	insecure := rest.CopyConfig(config)
	// The certificate of website-controller is its own, and lasts as long as its process.
	insecure.Insecure, insecure.CAData = true, nil
	if e.scraper, err = newClient(insecure); err != nil {
		return nil, err
	}
	config.ContentType, config.AcceptContentTypes = k8sruntime.ContentTypeProtobuf, k8sruntime.ContentTypeProtobuf
	if e.kube, err = kubernetes.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	return e, e.prepareScaffold(ctx)
}

// prepareScaffold creates the definition, and allows the scaffold everything: its roles are
// not under test.
func (e *environment) prepareScaffold(ctx context.Context) error {
	definition, err := yaml.YAMLToJSON(bench.WebsiteCRD)
	if err != nil {
		return fmt.Errorf("decoding the CustomResourceDefinition: %w", err)
	}
	if _, err := e.client.do(ctx, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", jsonType,
		definition); err != nil {
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
		_, err := e.client.do(ctx, http.MethodGet,
			websitesPath("definition.example.com/v1beta1", metav1.NamespaceDefault), "", nil)
		return err
	})
}
