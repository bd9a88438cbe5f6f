package adoption

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"

	api "github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	websiteclient "github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned/typed/website/v1beta1"
)

// fieldManager differs from the field manager of the controller, which later applies the owner
// reference as well.
const fieldManager = cached.FieldManager + "-adopt"

// Adopter adopts children.
type Adopter struct {
	Websites websiteclient.WebsitesGetter
	Objects  metadata.Interface
	// Namespace is the namespace of the Websites. Empty means all.
	Namespace string
	// Names are the names of the Websites. None means all.
	Names []string
	Out   io.Writer
}

// candidate is an object with the name of a child of a Website that does not control it.
type candidate struct {
	kind    kind
	object  *metav1.PartialObjectMetadata
	website *v1beta1.Website
	// refusal is the reason why the object is not adopted, or empty.
	refusal string
}

// Plan prints the adoptions that Run would make.
func (a *Adopter) Plan(ctx context.Context) error {
	return a.process(ctx, "to adopt", func(context.Context, candidate) error { return nil })
}

// Run adopts the objects that Plan prints. It continues after an error, and can be repeated.
func (a *Adopter) Run(ctx context.Context) error { return a.process(ctx, "adopted", a.adopt) }

// process calls do for each candidate that is not refused, and prints the outcomes.
func (a *Adopter) process(ctx context.Context, outcome string, do func(context.Context, candidate) error) error {
	candidates, err := a.candidates(ctx)
	if err != nil {
		return err
	}
	outcomes, done, refused := make([]string, len(candidates)), 0, 0
	var failures []error
	for i, c := range candidates {
		if c.refusal != "" {
			outcomes[i] = "refused: " + c.refusal
			refused++
			continue
		}
		if err := do(ctx, c); err != nil {
			outcomes[i] = "failed"
			err = fmt.Errorf("adopting %s %q in namespace %q: %w", c.kind.name, c.object.Name, c.object.Namespace, err)
			failures = append(failures, err)
			continue
		}
		outcomes[i] = outcome
		done++
	}
	if err := a.print(candidates, outcomes); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(a.Out, "%d %s, %d refused\n", done, outcome, refused); err != nil {
		return err
	}
	if len(failures) > 0 {
		return fmt.Errorf("%d failed, run the command again: %w", len(failures), errors.Join(failures...))
	}
	return nil
}

func (a *Adopter) print(candidates []candidate, outcomes []string) error {
	if len(candidates) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(a.Out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAMESPACE\tWEBSITE\tKIND\tNAME\tOUTCOME")
	for i, c := range candidates {
		object := c.object
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", object.Namespace, c.website.Name, c.kind.name, object.Name, outcomes[i])
	}
	return table.Flush()
}

// candidates returns the objects with names of children, by namespace and Website, in the order in which they are
// adopted.
func (a *Adopter) candidates(ctx context.Context) ([]candidate, error) {
	websites, err := a.byDeploymentName(ctx)
	if err != nil {
		return nil, err
	}
	var candidates []candidate
	for _, kind := range kinds {
		err := a.each(ctx, kind, func(object *metav1.PartialObjectMetadata) {
			name, ok := kind.deploymentName(object.Name)
			if !ok {
				return
			}
			claimants := websites[cache.NewObjectName(object.Namespace, name)]
			if len(claimants) == 0 {
				return
			}
			website := claimants[0]
			for _, claimant := range claimants {
				if children.HasLabelsOf(claimant, object) {
					website = claimant
				}
			}
			if !a.selects(website) || metav1.IsControlledBy(object, website) || kind.isUnrelated(website, object) {
				return
			}
			candidates = append(candidates, candidate{kind, object, website, refusal(website, object)})
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.object.Namespace, b.object.Namespace), cmp.Compare(a.website.Name, b.website.Name))
	})
	return candidates, nil
}

// byDeploymentName returns the Websites by namespace and deployment name. Two Websites that were
// created at the same time can have the same deployment name.
func (a *Adopter) byDeploymentName(ctx context.Context) (map[cache.ObjectName][]*v1beta1.Website, error) {
	list, err := a.Websites.Websites(a.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing Websites: %w", err)
	}
	missing := slices.Clone(a.Names)
	byName := map[cache.ObjectName][]*v1beta1.Website{}
	for i := range list.Items {
		website := &list.Items[i]
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == website.Name })
		key := cache.NewObjectName(website.Namespace, resources.DeploymentName(website))
		byName[key] = append(byName[key], website)
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("there is no Website %q: restore it first, or name another --namespace", missing[0])
	}
	return byName, nil
}

func (a *Adopter) selects(website *v1beta1.Website) bool {
	return len(a.Names) == 0 || slices.Contains(a.Names, website.Name)
}

// each calls visit with the objects of a kind. It ignores kinds that the cluster does not serve.
func (a *Adopter) each(ctx context.Context, kind kind, visit func(*metav1.PartialObjectMetadata)) error {
	client := a.Objects.Resource(kind.resource).Namespace(a.Namespace)
	list := func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return client.List(ctx, options)
	}
	err := pager.New(list).EachListItem(ctx, metav1.ListOptions{}, func(obj runtime.Object) error {
		object, ok := obj.(*metav1.PartialObjectMetadata)
		if !ok {
			return fmt.Errorf("%T is no metadata", obj)
		}
		visit(object)
		return nil
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("listing %s: %w", kind.resource.GroupResource(), err)
	}
	return nil
}

// refusal returns the reason why a Website may not adopt an object, or "".
func refusal(website *v1beta1.Website, object *metav1.PartialObjectMetadata) string {
	owner := metav1.GetControllerOfNoCopy(object)
	switch {
	case owner != nil && api.IsReference(owner):
		return fmt.Sprintf("it belongs to Website %q with UID %s", owner.Name, owner.UID)
	case owner != nil:
		return fmt.Sprintf("it belongs to %s %q", owner.Kind, owner.Name)
	case !children.HasLabelsOf(website, object):
		return fmt.Sprintf("it lacks the labels %s=%s and %s=%s",
			resources.LabelManagedBy, resources.ManagedBy, resources.LabelController, website.Name)
	case !object.DeletionTimestamp.IsZero():
		return "it is being deleted"
	case !website.DeletionTimestamp.IsZero():
		return "the Website is being deleted"
	}
	return ""
}

// adopt makes a Website the controller of an object, unless either has changed. Garbage collection would delete the
// object if the Website were gone.
func (a *Adopter) adopt(ctx context.Context, c candidate) error {
	current, err := a.Websites.Websites(c.website.Namespace).Get(ctx, c.website.Name, metav1.GetOptions{})
	switch {
	case err != nil:
		return fmt.Errorf("reading Website %q: %w", c.website.Name, err)
	case current.UID != c.website.UID || !current.DeletionTimestamp.IsZero():
		return fmt.Errorf("the Website %q was deleted meanwhile", c.website.Name)
	}
	owners := slices.DeleteFunc(slices.Clone(c.object.OwnerReferences), func(owner metav1.OwnerReference) bool {
		return owner.UID == c.website.UID // It does not make the Website the controller.
	})
	owners = append(owners, *metav1.NewControllerRef(c.website, v1beta1.SchemeGroupVersion.WithKind(resources.Kind)))
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": c.object.UID, "resourceVersion": c.object.ResourceVersion, "ownerReferences": owners,
	}})
	if err != nil {
		return fmt.Errorf("encoding the patch: %w", err)
	}
	_, err = a.Objects.Resource(c.kind.resource).Namespace(c.object.Namespace).
		Patch(ctx, c.object.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
	return err
}
