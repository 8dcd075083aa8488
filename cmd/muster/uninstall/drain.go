package uninstall

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/v1alpha1"
)

const (
	// lookAgain is how often the progress of a drain is looked at.
	lookAgain = 2 * time.Second
	// sayAgain is how often it is told when it does not change.
	sayAgain = time.Minute
)

// Drain deletes the pools, and the claims that have none, and waits until the Muster that leads has drained and released every
// node.
func (u *Uninstall) Drain(ctx context.Context) error {
	claims, err := u.claims(ctx)
	if err != nil {
		return err
	}
	if len(claims) > 0 {
		if err := u.leads(ctx); err != nil {
			return err
		}
	}
	if err := u.drained(ctx); err != nil {
		return err
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

// drained returns when no claim was left twice in a row, so that one which was being made when its pool was deleted is seen;
// where nothing is changed, at once.
func (u *Uninstall) drained(ctx context.Context) error {
	told, at := "", time.Time{}
	for empty := false; ; {
		pools, err := u.deletePools(ctx)
		if err != nil {
			return err
		}
		claims, err := u.deleteClaims(ctx, pools)
		if err != nil || !u.Do || len(claims) == 0 && (empty || len(pools) == 0) {
			return err
		}
		empty = len(claims) == 0
		if text := progress(pools, claims); text != told || time.Since(at) >= sayAgain {
			u.say("%s", text)
			told, at = text, time.Now()
		}
		if err := sleep(ctx, lookAgain); err != nil {
			return fmt.Errorf("%d claims are left, which Muster goes on to release; run the command again to follow it: %w", len(claims), err)
		}
	}
}

// deletePools deletes the pools that are not being deleted, and returns those that there are.
func (u *Uninstall) deletePools(ctx context.Context) ([]v1alpha1.NodePool, error) {
	var list v1alpha1.NodePoolList
	if err := unlessUndefined(u.Objects.List(ctx, &list)); err != nil {
		return nil, fmt.Errorf("list NodePools: %w", err)
	}
	for i := range list.Items {
		p := &list.Items[i]
		if p.DeletionTimestamp != nil {
			continue
		}
		if err := u.change(func() error {
			return client.IgnoreNotFound(u.Objects.Delete(ctx, p, client.Preconditions{UID: &p.UID}))
		}, "delete pool %s", p.Name); err != nil {
			return nil, again(err)
		}
	}
	return list.Items, nil
}

// deleteClaims deletes the claims whose pool is gone, and returns all claims. A pool that is there releases its own.
func (u *Uninstall) deleteClaims(ctx context.Context, pools []v1alpha1.NodePool) ([]*v1alpha1.NodeClaim, error) {
	claims, err := u.claims(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range claims {
		if c.DeletionTimestamp != nil {
			continue
		}
		if !u.Do {
			u.say("would have Muster drain and release claim %s (node %q, %s)", c.Name, c.Status.NodeName, c.Status.State)
			continue
		}
		if slices.ContainsFunc(pools, func(p v1alpha1.NodePool) bool { return p.Name == c.Spec.Pool }) {
			continue
		}
		if err := u.change(func() error {
			return client.IgnoreNotFound(u.Objects.Delete(ctx, c, client.Preconditions{UID: &c.UID}))
		}, "delete claim %s", c.Name); err != nil {
			return nil, again(err)
		}
	}
	return claims, nil
}

// progress is what is left: what each pool says of its end, and one claim a line.
func progress(pools []v1alpha1.NodePool, claims []*v1alpha1.NodeClaim) string {
	lines := []string{fmt.Sprintf("left: %d claims, %d pools", len(claims), len(pools))}
	for i := range pools {
		if why := meta.FindStatusCondition(pools[i].Status.Conditions, v1alpha1.ConditionDeleting); why != nil {
			lines = append(lines, fmt.Sprintf("  pool %s: %s", pools[i].Name, why.Message))
		}
	}
	for _, c := range claims {
		lines = append(lines, fmt.Sprintf("  %s %s: %s", c.Name, c.Status.State, c.Status.Message))
	}
	return strings.Join(lines, "\n")
}
