package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/kube"
	"github.com/muster-sh/muster/provider/gate"
)

// stopper writes the ConfigMap by which people stop what Muster does, and says what it comes to.
type stopper struct {
	client    client.Client
	namespace string
	out       io.Writer
	now       func() time.Time
}

func (s *stopper) freeze(ctx context.Context, f freezeFlags) error {
	if err := s.checkPools(ctx, f.pools); err != nil {
		return err
	}
	by, err := whoAmI(ctx, s.client, f.user)
	if err != nil {
		return err
	}
	note := gate.Note{By: by, Reason: f.reason, Since: s.now().Truncate(time.Second)}
	after, err := s.change(ctx, func(before gate.Freeze) (gate.Freeze, error) {
		if unread := before.Unread(); unread != "" {
			return before, fmt.Errorf("%s: everything counts as frozen already; `muster thaw` ends that", unread)
		}
		return before.Freezing(f.keys(gate.FreezeReleases), f.pools, note), nil
	})
	if err != nil {
		return err
	}
	return s.report(ctx, after, f.wait)
}

func (s *stopper) thaw(ctx context.Context, f freezeFlags) error {
	existing, err := s.pools(ctx)
	if err != nil && len(f.pools) > 0 {
		return err
	}
	after, err := s.change(ctx, func(before gate.Freeze) (gate.Freeze, error) {
		after := before.Thawing(f.keys(gate.FreezeReleases, gate.FreezeProvisioning), f.pools, names(existing))
		if unread := after.Unread(); unread != "" {
			return after, fmt.Errorf("%s: only `muster thaw` for everything ends that", unread)
		}
		return after, nil
	})
	if err != nil {
		return err
	}
	return s.report(ctx, after, f.wait)
}

func (s *stopper) pools(ctx context.Context) ([]v1alpha1.NodePool, error) {
	var list v1alpha1.NodePoolList
	if err := s.client.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list NodePools: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b v1alpha1.NodePool) int { return strings.Compare(a.Name, b.Name) })
	return list.Items, nil
}

func names(pools []v1alpha1.NodePool) []string {
	all := make([]string, 0, len(pools))
	for i := range pools {
		all = append(all, pools[i].Name)
	}
	return all
}

// checkPools refuses names of pools that do not exist: a typing mistake would freeze nothing.
func (s *stopper) checkPools(ctx context.Context, wanted []string) error {
	if len(wanted) == 0 {
		return nil
	}
	existing, err := s.pools(ctx)
	if err != nil {
		return err
	}
	for _, name := range wanted {
		if !slices.Contains(names(existing), name) {
			return fmt.Errorf("--pool %s: there is no such NodePool; there are: %s", name, cmp.Or(strings.Join(names(existing), ", "), "none"))
		}
	}
	return nil
}

// mostConflicts is how often a change is made anew because another one came in between.
const mostConflicts = 5

// change writes what edit makes of what is frozen now.
func (s *stopper) change(ctx context.Context, edit func(gate.Freeze) (gate.Freeze, error)) (gate.Freeze, error) {
	for range mostConflicts {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: gate.FreezeName}}
		err := s.client.Get(ctx, client.ObjectKeyFromObject(m), m)
		absent := apierrors.IsNotFound(err)
		if err != nil && !absent {
			return gate.Freeze{}, fmt.Errorf("read ConfigMap %s/%s: %w", s.namespace, gate.FreezeName, err)
		}
		before := gate.ParseFreeze(kube.FreezeData(m))
		after, err := edit(before)
		if err != nil || before.Equal(after) {
			return after, err
		}
		m.Data, m.BinaryData = after.Data(), nil
		if absent {
			err = s.client.Create(ctx, m)
		} else {
			err = s.client.Update(ctx, m)
		}
		switch {
		case err == nil:
			return after, nil
		case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err) && !absent:
			continue
		case apierrors.IsNotFound(err):
			return gate.Freeze{}, fmt.Errorf("--namespace %s: there is no such namespace: %w", s.namespace, err)
		}
		return gate.Freeze{}, fmt.Errorf("write ConfigMap %s/%s: %w", s.namespace, gate.FreezeName, err)
	}
	return gate.Freeze{}, fmt.Errorf("write ConfigMap %s/%s: it was changed %d times in between", s.namespace, gate.FreezeName, mostConflicts)
}

// report says what is frozen, what goes on all the same, and whether Muster has seen it.
func (s *stopper) report(ctx context.Context, f gate.Freeze, wait time.Duration) error {
	for _, line := range frozenLines(f) {
		fmt.Fprintln(s.out, line)
	}
	var claims v1alpha1.NodeClaimList
	if err := s.client.List(ctx, &claims); err != nil {
		fmt.Fprintf(s.out, "What is on its way cannot be shown: list NodeClaims: %v\n", err)
	}
	for _, line := range underway(f, claims.Items) {
		fmt.Fprintln(s.out, line)
	}
	if wait == 0 {
		return nil
	}
	return s.await(ctx, f, wait)
}

func frozenLines(f gate.Freeze) []string {
	if !f.Any() {
		return []string{"Nothing is frozen."}
	}
	data := f.Data()
	var what []string
	for _, key := range []string{gate.FreezeReleases, gate.FreezeProvisioning} {
		switch pools := data[key]; pools {
		case "":
		case gate.EveryPool:
			what = append(what, key+" of every pool")
		default:
			what = append(what, key+" of "+strings.ReplaceAll(pools, ",", ", "))
		}
	}
	lines := []string{"Frozen: " + strings.Join(what, "; ") + "."}
	if data[gate.FreezeReason] != "" {
		lines = append(lines, fmt.Sprintf("By %s since %s: %s", cmp.Or(data[gate.FreezeBy], "a person who gave no name"),
			cmp.Or(data[gate.FreezeSince], "a time that was not given"), data[gate.FreezeReason]))
	}
	return lines
}

// underway names the claims that a freeze does not reach, and those that it holds up.
func underway(f gate.Freeze, claims []v1alpha1.NodeClaim) []string {
	slices.SortFunc(claims, func(a, b v1alpha1.NodeClaim) int { return strings.Compare(a.Name, b.Name) })
	var going, held, coming []string
	for i := range claims {
		c := &claims[i]
		releases, _ := f.Releases(c.Spec.Pool)
		provisioning, _ := f.Provisioning(c.Spec.Pool)
		line := "  " + c.Name + "  " + about(c)
		switch c.Status.State {
		case v1alpha1.ClaimReleasing:
			going = append(going, line)
		case v1alpha1.ClaimDraining:
			if releases {
				held = append(held, line)
			}
		case "", v1alpha1.ClaimPending, v1alpha1.ClaimLaunching, v1alpha1.ClaimJoining, v1alpha1.ClaimStarting:
			if provisioning {
				coming = append(coming, line)
			}
		}
	}
	var lines []string
	for _, part := range []struct {
		title string
		lines []string
	}{
		{"Given back to their providers; what was asked for already goes on:", going},
		{"On their way out; no pod is evicted and no machine is deleted until they thaw:", held},
		{"Ordered before; they come up:", coming},
	} {
		if len(part.lines) > 0 {
			lines = append(append(lines, part.title), part.lines...)
		}
	}
	return lines
}

func about(c *v1alpha1.NodeClaim) string {
	parts := []string{"pool " + c.Spec.Pool}
	if id := cmp.Or(c.Status.MachineID, c.Status.ReservedID); id != "" {
		parts = append(parts, "machine "+id)
	}
	if c.Status.NodeName != "" {
		parts = append(parts, "node "+c.Status.NodeName)
	}
	text := strings.Join(parts, ", ")
	if c.Status.Message != "" {
		text += ": " + c.Status.Message
	}
	return text
}

// lookAgain is how often the pools are read while they do not say yet what was written.
const lookAgain = 250 * time.Millisecond

// await returns when every pool says what was written.
func (s *stopper) await(ctx context.Context, f gate.Freeze, wait time.Duration) error {
	over := time.NewTimer(wait)
	defer over.Stop()
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	for {
		pools, err := s.pools(ctx)
		if err != nil {
			return fmt.Errorf("it is written, and cannot be confirmed: %w", err)
		}
		silent := unaware(f, pools)
		switch {
		case len(pools) == 0:
			fmt.Fprintln(s.out, "There is no NodePool that could say so.")
			return nil
		case len(silent) == 0:
			fmt.Fprintf(s.out, "Muster says so on %s.\n", poolsNamed(names(pools)))
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-over.C:
			return fmt.Errorf("it is written to ConfigMap %s/%s, and within %s Muster did not say so on %s: it may not run, or its --namespace may be another one",
				s.namespace, gate.FreezeName, wait, poolsNamed(silent))
		case <-again.C:
		}
	}
}

// unaware are the pools whose status says something else.
func unaware(f gate.Freeze, pools []v1alpha1.NodePool) (silent []string) {
	for i := range pools {
		p := &pools[i]
		wantReleases, whyReleases := f.Releases(p.Name)
		wantProvisioning, whyProvisioning := f.Provisioning(p.Name)
		releases, provisioning := p.Status.Frozen()
		said := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionFrozen)
		_, note, _ := strings.Cut(cmp.Or(whyReleases, whyProvisioning), "frozen") // an older freeze has another one
		if said == nil || releases != wantReleases || provisioning != wantProvisioning || !strings.Contains(said.Message, note) {
			silent = append(silent, p.Name)
		}
	}
	return silent
}

func poolsNamed(names []string) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return "pool " + names[0]
	}
	return "pools " + strings.Join(names, ", ")
}
