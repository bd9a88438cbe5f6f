package controller

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// elsewhere are commands that need an installation in pods, a real node or another program: the tests of
// installations run those of the store.
var elsewhere = regexp.MustCompile(
	`kubectl (exec|logs|port-forward|debug|wait pvc|patch pvc|delete statefulset)|curl|helm`)

// TestManual runs the commands of the pages for operators that need the API alone, as a user would type them.
func TestManual(t *testing.T) {
	namespace := framework.NewNamespace(t)
	framework.MustCreate(t, framework.NewWebsite(namespace, "shop", framework.WithDeployment("shop-pages"),
		func(w *v1beta1.Website) { w.Spec.Hosts = framework.Hosts("www.example.com") }))
	framework.WaitCondition(t, namespace, "shop", v1beta1.WebsiteAvailable, metav1.ConditionTrue,
		v1beta1.WebsiteReasonMinimumReplicasAvailable)

	words := strings.NewReplacer("NAMESPACE", namespace, "DEPLOYMENT", "shop-pages", "NAME", "shop",
		"FORMER", strings.Repeat("a", 40), "-n team ", "-n "+namespace+" ")
	for page, least := range map[string]int{"availability": 1, "conditions": 1, "production": 3, "security": 2,
		"troubleshooting": 9, "upgrade": 1} {
		t.Run(page, func(t *testing.T) {
			text, err := os.ReadFile(framework.Path("docs", page+".md"))
			if err != nil {
				t.Fatal(err)
			}
			ran := 0
			for line := range strings.Lines(string(text)) {
				command, found := strings.CutPrefix(strings.TrimSpace(line), "$ ")
				if !found || elsewhere.MatchString(command) {
					continue
				}
				ran++
				runAsPrinted(t, words.Replace(command))
			}
			if ran < least {
				t.Errorf("only %d commands were run, want %d", ran, least)
			}
		})
	}
}

// runAsPrinted runs a command of a page in a shell, as the administrator.
func runAsPrinted(t *testing.T, command string) {
	t.Helper()
	shell := exec.CommandContext(t.Context(), "sh", "-c", command)
	shell.Env = append(os.Environ(), "KUBECONFIG="+framework.Cluster.Kubeconfig(),
		fmt.Sprintf("PATH=%s:%s", filepath.Dir(framework.Cluster.KubectlPath()), os.Getenv("PATH")))
	output, err := shell.CombinedOutput()
	if err != nil || strings.Contains(string(output), "NotFound") {
		t.Errorf("%s: %v\n%s", command, err, output)
	}
}
