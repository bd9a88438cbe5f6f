package requesttest

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/install"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/validation"
)

// TestTablesAreOfValidWebsites checks that users can have the sites of the tables.
func TestTablesAreOfValidWebsites(t *testing.T) {
	tables, err := Tables()
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	rows := 0
	for name, table := range tables {
		w := &v1beta1.Website{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "site"}}
		w.Spec.DeploymentName = "site"
		w.Spec.Source.Git = &v1beta1.GitSource{Repository: "https://git.example.com/site.git"}
		w.Spec.Serving = table.Serving
		scheme.Default(w)
		var internal website.Website
		if err := scheme.Convert(w, &internal, nil); err != nil {
			t.Fatal(err)
		}
		if errs := validation.ValidateWebsite(&internal); len(errs) > 0 {
			t.Errorf("%s: %v", name, errs)
		}
		rows += len(table.Want)
	}
	if rows < 500 {
		t.Errorf("the tables have %d rows", rows)
	}
}
