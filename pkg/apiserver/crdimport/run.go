package crdimport

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// step is a part of an import that can be repeated.
type step struct {
	name, does string
	// done reports whether the step has had its effect. Its wait afterwards may
	// be incomplete.
	done func(state) bool
	run  func(context.Context) error
}

const (
	stepFreeze = "freeze"
	stepDetach = "detach"
	stepRemove = "remove"
)

func (i *Importer) steps() []step {
	return []step{
		{stepFreeze, "refuse writes of Websites", func(s state) bool {
			return s.frozen() || s.removed() ||
				s.handedOver()
		}, i.freeze},
		{"copy", "copy the Websites to the store, with their UIDs",
			func(s state) bool { return s.removed() || s.handedOver() }, i.copy},
		{"hand over", "have website-apiserver serve v1alpha1",
			func(s state) bool { return s.removed() || s.handedOver() }, i.handOver},
		{stepDetach, "end the watches of the definition's storage",
			func(s state) bool { return s.removed() || s.handedOver() && isDetached(s.definition, s.policy) }, i.detach},
		{stepRemove, "delete the CustomResourceDefinition", func(s state) bool { return s.definition == nil }, i.remove},
		{"finish", "register v1beta1, and permit writes",
			func(s state) bool { return s.definition == nil && !s.handedOver() && !s.frozen() }, i.finish},
	}
}

// next returns the index of the step to begin with: the last one that is done, as its waits
// may have been interrupted.
func next(steps []step, s state) int {
	for n, step := range steps {
		if !step.done(s) {
			return max(n-1, 0)
		}
	}
	return len(steps)
}

// progress returns a line for each step. Run continues at the last one that is done.
func progress(steps []step, s state) []string {
	var lines []string
	first := next(steps, s)
	for n, step := range steps {
		reached, note := "to do", ""
		if step.done(s) {
			reached = "done"
			if n == first {
				note = "; run waits again until that is observed"
			}
		}
		lines = append(lines, fmt.Sprintf("%-10s %-6s %s%s", step.name, reached, step.does, note))
	}
	return lines
}

// adviceTimeout bounds the read for the message of an interrupted command.
const adviceTimeout = 5 * time.Second

// advice returns the possible commands after an error. The context may have ended.
func (i *Importer) advice(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), adviceTimeout)
	defer cancel()
	s, err := i.read(ctx)
	return adviceAt(s, err)
}

// adviceAt returns the advice for a state, or for one that could not be read.
func adviceAt(s state, unknown error) string {
	const advice = "run the command again to continue, or \"website-apiserver import back\" to go back"
	switch {
	case unknown != nil:
		return advice + ", until the definition is being removed"
	case s.removed():
		return "run the command again to continue: the definition is removed, and there is no way back"
	default:
		return advice
	}
}

// Plan prints the steps of Run, and changes nothing. It returns an error if Run would.
func (i *Importer) Plan(ctx context.Context) error {
	s, err := i.read(ctx)
	if err != nil {
		return err
	}
	if err := i.check(ctx, s); err != nil {
		return err
	}
	if s.local() {
		all, err := i.list(ctx)
		if err != nil {
			return err
		}
		i.printf("the CustomResourceDefinition %s has %d Websites, all of which can be imported", DefinitionName, len(all))
		owned, err := i.config.Store.Owned(ctx)
		if err != nil {
			return err
		}
		for _, command := range leftBehind(all, owned) {
			i.printf("objects of a former deploymentName are left behind, and are not taken over: run %q", command)
		}
	}
	for _, line := range progress(i.steps(), s) {
		i.printf("%s", line)
	}
	if s.removed() {
		i.printf("the definition is removed: there is no way back")
	}
	return nil
}

// Run imports, or continues an import.
func (i *Importer) Run(ctx context.Context) error {
	s, err := i.read(ctx)
	if err != nil {
		return err
	}
	if err := i.check(ctx, s); err != nil {
		return err
	}
	if s.local() && !s.frozen() {
		// Errors are found before anything is changed.
		if _, err := i.list(ctx); err != nil {
			return err
		}
	}
	steps := i.steps()
	i.frozenBy = s.policy
	for _, step := range steps[next(steps, s):] {
		i.printf("%s: %s", step.name, step.does)
		start := time.Now()
		// Each step begins by reading the cluster, and ends with a wait.
		if s, err = i.read(ctx); err == nil {
			err = s.checkNotReverted(i.frozenBy, step.name)
		}
		if err == nil {
			err = step.run(ctx)
		}
		if err == nil && step.name == stepFreeze {
			if i.frozenBy, err = i.policy(ctx); err == nil && i.frozenBy == "" {
				err = errors.New("another command has permitted writes meanwhile")
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w; %s", step.name, err, i.advice(ctx))
		}
		i.printf("%s: done in %s", step.name, time.Since(start).Round(100*time.Millisecond))
	}
	return nil
}

// Back makes the definition serve the API again, and permits writes. The copies stay in
// the store, unserved, until the next import.
func (i *Importer) Back(ctx context.Context) error {
	s, err := i.read(ctx)
	if err != nil {
		return err
	}
	if s.removed() {
		return errors.New("the CustomResourceDefinition is removed: there is no way back; run \"website-apiserver import " +
			"run\" to continue")
	}
	if s.handedOver() {
		if err := i.patchAPIService(ctx, handBackPatch); err != nil {
			return err
		}
	}
	err = i.waitFor(ctx, "the CustomResourceDefinition serves the API", func(ctx context.Context) error {
		return i.available(ctx, apiServiceName, true)
	})
	if err != nil {
		return err
	}
	if err := i.setDeprecated(ctx, ""); err != nil {
		return err
	}
	// A kube-apiserver that still routes to website-apiserver would make it accept writes that are not
	// served afterwards.
	if err := i.propagate(ctx); err != nil {
		return err
	}
	if s, err = i.read(ctx); err != nil {
		return err
	}
	if s.removed() || s.handedOver() {
		return errors.New("another command has handed the API over meanwhile: end it, and run this one again")
	}
	if err := i.unfreeze(ctx); err != nil {
		return err
	}
	i.printf("the CustomResourceDefinition %s serves the API", DefinitionName)
	return nil
}
