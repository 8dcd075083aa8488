package uninstall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// errRuns means that nodes cannot be kept yet: a Muster that runs would take the removal of claims for something to act on.
var errRuns = errors.New("a Muster runs; stop it first, nothing was changed")

// errStands means that nodes cannot be drained: that is the work of a Muster that leads.
var errStands = errors.New("no Muster leads, so no node would be drained; start it, or keep the nodes with --keep-nodes; nothing was changed")

// stopped returns nil when no Muster runs. A shadow may: it only reads.
func (u *Uninstall) stopped(ctx context.Context) error {
	var found []string
	workloads, err := u.workloads(ctx)
	if err != nil {
		return err
	}
	found = append(found, workloads...)
	if len(found) == 0 && u.Do { // what only prints does not wait
		renewed, err := u.renewed(ctx)
		if err != nil {
			return err
		}
		if renewed != "" {
			found = append(found, renewed)
		}
	}
	if len(found) > 0 {
		return fmt.Errorf("%w:\n  %s", errRuns, strings.Join(found, "\n  "))
	}
	return nil
}

// leads returns nil when a Muster leads.
func (u *Uninstall) leads(ctx context.Context) error {
	if !u.Do {
		return nil
	}
	renewed, err := u.renewed(ctx)
	if err == nil && renewed == "" {
		return errStands
	}
	return err
}

// labels are those of every workload in deploy.
var labels = client.MatchingLabels{"app.kubernetes.io/name": "muster"}

const componentLabel = "app.kubernetes.io/component"

// workloads names Deployments and pods of Muster in all namespaces, each with what stops it.
func (u *Uninstall) workloads(ctx context.Context) ([]string, error) {
	var deployments appsv1.DeploymentList
	if err := u.Objects.List(ctx, &deployments, labels); err != nil {
		return nil, fmt.Errorf("list Deployments of Muster: %w", err)
	}
	var pods corev1.PodList
	if err := u.Objects.List(ctx, &pods, labels); err != nil {
		return nil, fmt.Errorf("list pods of Muster: %w", err)
	}
	var found []string
	for _, d := range deployments.Items {
		if d.Labels[componentLabel] != "shadow" && (d.Spec.Replicas == nil || *d.Spec.Replicas > 0) {
			found = append(found, fmt.Sprintf("kubectl --namespace %s scale deployment/%s --replicas=0", d.Namespace, d.Name))
		}
	}
	for _, p := range pods.Items {
		over := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		if p.Labels[componentLabel] != "shadow" && !over && len(found) == 0 {
			found = append(found, fmt.Sprintf("kubectl --namespace %s wait --for=delete pod/%s", p.Namespace, p.Name))
		}
	}
	slices.Sort(found)
	return found, nil
}

// renewed names a lease that its holder renews, and is empty when each has stood unchanged for as long as it counts. The clock
// of the holder is not asked: leases are watched for that long.
func (u *Uninstall) renewed(ctx context.Context) (string, error) {
	held, err := u.held(ctx)
	if err != nil || len(held) == 0 {
		return "", err
	}
	var longest time.Duration
	for name, lease := range held {
		longest = max(longest, validFor(&lease))
		u.say("lease %s was held by %s; watching for %s whether it is renewed", name, *lease.Spec.HolderIdentity, validFor(&lease))
	}
	for begun := time.Now(); time.Since(begun) < longest; {
		if err := sleep(ctx, time.Second); err != nil {
			return "", err
		}
		now, err := u.held(ctx)
		if err != nil {
			return "", err
		}
		for name, lease := range now {
			if before, known := held[name]; !known || before.ResourceVersion != lease.ResourceVersion {
				return fmt.Sprintf("lease %s is renewed by %s", name, *lease.Spec.HolderIdentity), nil
			}
		}
	}
	return "", nil
}

// held are the leases that have a holder.
func (u *Uninstall) held(ctx context.Context) (map[types.NamespacedName]coordinationv1.Lease, error) {
	found := map[types.NamespacedName]coordinationv1.Lease{}
	for _, name := range u.Leases {
		var lease coordinationv1.Lease
		if err := client.IgnoreNotFound(u.Objects.Get(ctx, name, &lease)); err != nil {
			return nil, fmt.Errorf("read lease %s: %w", name, err)
		}
		if h := lease.Spec.HolderIdentity; h != nil && *h != "" {
			found[name] = lease
		}
	}
	return found, nil
}

// validFor is how long a lease counts without a renewal.
func validFor(lease *coordinationv1.Lease) time.Duration {
	if s := lease.Spec.LeaseDurationSeconds; s != nil && *s > 0 {
		return time.Duration(*s) * time.Second
	}
	return 15 * time.Second
}
