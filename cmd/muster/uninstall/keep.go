package uninstall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/lifecycle"
	"github.com/muster-sh/muster/provider/identity"
)

// finalizers of ours begin so.
const finalizers = "muster.sh/"

// errChanged means that something writes to claims although no Muster was seen to run.
var errChanged = errors.New("it was changed meanwhile: see that no Muster runs, and run the command again")

// Keep makes every node of Muster a plain node and takes the claims away; the machines go on.
func (u *Uninstall) Keep(ctx context.Context) error {
	if err := u.stopped(ctx); err != nil {
		return err
	}
	claims, err := u.claims(ctx)
	if err != nil {
		return err
	}
	if err := u.openNodes(ctx, claims); err != nil {
		return err
	}
	if err := u.recordMachines(ctx, claims); err != nil {
		return err
	}
	for _, c := range claims {
		if err := u.dropClaim(ctx, c); err != nil {
			return err
		}
	}
	if err := u.freeObjects(ctx); err != nil {
		return err
	}
	if err := u.allow(ctx); err != nil {
		return err
	}
	u.finish()
	return nil
}

// claims are all claims; none where their definition is gone.
func (u *Uninstall) claims(ctx context.Context) ([]*v1alpha1.NodeClaim, error) {
	var list v1alpha1.NodeClaimList
	if err := unlessUndefined(u.Objects.List(ctx, &list)); err != nil {
		return nil, fmt.Errorf("list NodeClaims: %w", err)
	}
	all := make([]*v1alpha1.NodeClaim, 0, len(list.Items))
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	return all, nil
}

// unlessUndefined is nil for an error that says that the kind does not exist: a run before this one came further.
func unlessUndefined(err error) error {
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// openNodes takes our marks off the Nodes. They go first: a claim is known by them, and a run that ends here is run again.
func (u *Uninstall) openNodes(ctx context.Context, claims []*v1alpha1.NodeClaim) error {
	var nodes corev1.NodeList
	if err := u.Objects.List(ctx, &nodes); err != nil {
		return fmt.Errorf("list Nodes: %w", err)
	}
	for i := range nodes.Items {
		node := &nodes.Items[i]
		plain := lifecycle.PlainNode(node)
		if !lifecycle.Marked(node) && (!anyOf(claims, node) || node.Annotations[v1alpha1.DoNotReleaseAnnotation] == "true") {
			continue
		}
		patch := client.MergeFromWithOptions(node, client.MergeFromWithOptimisticLock{})
		if err := u.change(func() error { return u.Objects.Patch(ctx, plain, patch) }, "make node %s a plain node%s", node.Name, opened(node)); err != nil {
			return again(err)
		}
	}
	return nil
}

// anyOf says that a Node could be the machine of one of the claims.
func anyOf(claims []*v1alpha1.NodeClaim, node *corev1.Node) bool {
	return slices.ContainsFunc(claims, func(c *v1alpha1.NodeClaim) bool {
		how, _ := identity.CouldBe(c, node)
		return how != identity.NoMatch
	})
}

// opened says that a node was closed by us.
func opened(node *corev1.Node) string {
	if node.Spec.Unschedulable && !lifecycle.PlainNode(node).Spec.Unschedulable {
		return " and open it"
	}
	return ""
}

// recordMachines lists the machines in their Providers as the user's. Where Providers outlive the claims, a Muster that is started
// again touches none of them.
func (u *Uninstall) recordMachines(ctx context.Context, claims []*v1alpha1.NodeClaim) error {
	var list v1alpha1.ProviderList
	if err := unlessUndefined(u.Objects.List(ctx, &list)); err != nil {
		return fmt.Errorf("list Providers: %w", err)
	}
	for i := range list.Items {
		p := &list.Items[i]
		before := len(p.Status.KeptMachines)
		for _, c := range claims {
			if c.Spec.Provider == p.Name && c.Status.MachineID != "" && !p.Status.Keeps(c.UID) {
				p.Status.KeptMachines = append(p.Status.KeptMachines, v1alpha1.KeptMachine{
					ClaimUID: c.UID, Claim: c.Name, ID: c.Status.MachineID, Node: c.Status.NodeName, Since: metav1.Now(),
				})
			}
		}
		if len(p.Status.KeptMachines) == before {
			continue
		}
		err := u.change(func() error { return u.Objects.Status().Update(ctx, p) },
			"list %d machines of provider %s as yours", len(p.Status.KeptMachines)-before, p.Name)
		if err != nil {
			return again(err)
		}
	}
	return nil
}

// dropClaim takes a claim away and leaves its machine. A claim never stands deleted with our finalizer on it, which would be the
// order to destroy its machine: without the finalizer the deletion of exactly that version is its end.
func (u *Uninstall) dropClaim(ctx context.Context, c *v1alpha1.NodeClaim) error {
	return again(u.change(func() error {
		if err := u.free(ctx, c); err != nil {
			return err
		}
		if c.DeletionTimestamp != nil {
			return nil // the finalizer was what kept it
		}
		err := u.Objects.Delete(ctx, c, client.Preconditions{UID: &c.UID, ResourceVersion: &c.ResourceVersion})
		return client.IgnoreNotFound(err)
	}, "remove claim %s and keep %s", c.Name, kept(c)))
}

// kept names what of a claim stays.
func kept(c *v1alpha1.NodeClaim) string {
	st := &c.Status
	switch {
	case st.MachineID != "" && st.NodeName != "":
		return fmt.Sprintf("machine %s of provider %s, which is node %s", st.MachineID, c.Spec.Provider, st.NodeName)
	case st.MachineID != "":
		return fmt.Sprintf("machine %s of provider %s, which is no node (%s): look after it yourself", st.MachineID, c.Spec.Provider, st.State)
	case st.ReservedID != "" || st.State == v1alpha1.ClaimLaunching || st.State == v1alpha1.ClaimReleasing:
		return fmt.Sprintf("what provider %s may have made for it (%s %s): look after it yourself", c.Spec.Provider, st.State, st.ReservedID)
	}
	return "nothing, since it had no machine"
}

// freeObjects takes our finalizers off pools, providers and hosts, which keep those for claims.
func (u *Uninstall) freeObjects(ctx context.Context) error {
	for kind, list := range map[string]client.ObjectList{
		"NodePool": &v1alpha1.NodePoolList{}, "Provider": &v1alpha1.ProviderList{}, "Host": &v1alpha1.HostList{},
	} {
		if err := unlessUndefined(u.Objects.List(ctx, list)); err != nil {
			return fmt.Errorf("list %ss: %w", kind, err)
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			return fmt.Errorf("list %ss: %w", kind, err)
		}
		for _, item := range items {
			o, ok := item.(client.Object)
			if !ok || len(others(o)) == len(o.GetFinalizers()) {
				continue
			}
			err := u.change(func() error { return u.free(ctx, o) }, "take Muster's finalizers off %s %s", kind, o.GetName())
			if err != nil {
				return again(err)
			}
		}
	}
	return nil
}

// free takes our finalizers off the version that was read.
func (u *Uninstall) free(ctx context.Context, o client.Object) error {
	left := others(o)
	if len(left) == len(o.GetFinalizers()) {
		return nil
	}
	before, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("%T is no object", o)
	}
	o.SetFinalizers(left)
	err := u.Objects.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	return client.IgnoreNotFound(err)
}

// others are the finalizers that are not ours.
func others(o client.Object) []string {
	return slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool { return strings.HasPrefix(f, finalizers) })
}

// again says what to do about a conflict.
func again(err error) error {
	if apierrors.IsConflict(err) {
		return fmt.Errorf("%w: %w", errChanged, err)
	}
	return err
}
