package stage

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// clear stops every process and removes every object of the story. Processes go first and hard: nobody is left to act
// on the removals, and finalizers are taken off by hand.
func (s *Stage) clear() {
	for i := len(s.services) - 1; i >= 0; i-- {
		s.services[i].Kill()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		left, err := s.sweep(ctx, kinds())
		if err == nil && left == 0 {
			break
		}
		if ctx.Err() != nil {
			s.T.Errorf("the story left %d objects behind (last error: %v)", left, err)
			break
		}
		<-tick.C
	}
	_ = s.Plane.Client.CoreV1().Namespaces().Delete(ctx, s.Namespace, metav1.DeleteOptions{})
}

// Wipe removes machines and everything that one cluster consists of, while all processes go on: the next cluster is
// made on the same stage. What replicas and backends need stays.
func (s *Stage) Wipe(within time.Duration) {
	s.T.Helper()
	s.Await(within, "the cluster to be wiped", func() error {
		left, err := s.sweep(s.Ctx, clusterKinds())
		if err != nil {
			return err
		}
		machines, err := s.Sim.Discard(s.Ctx)
		if err == nil && left+machines > 0 {
			err = fmt.Errorf("%d objects and %d machines are left", left, machines)
		}
		return err
	})
}

// sweep deletes what there is and says how much there was. What makes other objects goes before what it makes.
func (s *Stage) sweep(ctx context.Context, kinds []kind) (left int, err error) {
	for _, k := range kinds {
		if err := s.Plane.Objects.List(ctx, k.list, k.options...); err != nil {
			return left, fmt.Errorf("list %T: %w", k.list, err)
		}
		objects, err := apimeta.ExtractList(k.list)
		if err != nil {
			return left, err
		}
		for _, o := range objects {
			object := o.(client.Object)
			if k.ours != nil && !k.ours(object) {
				continue
			}
			left++
			if err := s.remove(ctx, object); err != nil {
				return left, err
			}
		}
	}
	return left, nil
}

func (s *Stage) remove(ctx context.Context, o client.Object) error {
	if len(o.GetFinalizers()) > 0 {
		before := o.DeepCopyObject().(client.Object)
		o.SetFinalizers(nil)
		err := client.IgnoreNotFound(s.Plane.Objects.Patch(ctx, o, client.MergeFrom(before)))
		if err != nil {
			return fmt.Errorf("take the finalizers off %s: %w", o.GetName(), err)
		}
	}
	err := client.IgnoreNotFound(s.Plane.Objects.Delete(ctx, o, client.GracePeriodSeconds(0),
		client.PropagationPolicy(metav1.DeletePropagationBackground)))
	if err != nil {
		return fmt.Errorf("delete %s: %w", o.GetName(), err)
	}
	return nil
}

// kind is one kind of object that stories make, directly or through the product.
type kind struct {
	list    client.ObjectList
	options []client.ListOption
	ours    func(client.Object) bool // nil: all of them
}

func kinds() []kind {
	return append(clusterKinds(),
		kind{list: &v1alpha1.HostList{}},
		kind{list: &v1alpha1.ProviderList{}},
		kind{list: &nodev1.RuntimeClassList{}},
		kind{list: &schedulingv1.PriorityClassList{}, ours: func(o client.Object) bool {
			return !strings.HasPrefix(o.GetName(), "system-")
		}},
		kind{list: &coordinationv1.LeaseList{}, ours: schedulerLease},
	)
}

// clusterKinds are those that differ from one cluster to the next.
func clusterKinds() []kind {
	return []kind{
		{list: &appsv1.DaemonSetList{}},
		{list: &appsv1.ReplicaSetList{}},
		{list: &policyv1.PodDisruptionBudgetList{}},
		{list: &v1alpha1.NodePoolList{}},
		{list: &v1alpha1.NodeClaimList{}},
		{list: &corev1.PodList{}},
		{list: &corev1.PersistentVolumeClaimList{}},
		{list: &corev1.PersistentVolumeList{}},
		{list: &storagev1.StorageClassList{}},
		{list: &storagev1.CSINodeList{}},
		{list: &corev1.NodeList{}},
	}
}

// schedulerLease finds the leases of schedulers and of Muster: the next story must not wait for them to expire. Those of
// nodes go with their nodes, the API server's stays.
func schedulerLease(o client.Object) bool {
	return o.GetNamespace() != corev1.NamespaceNodeLease && !strings.HasPrefix(o.GetName(), "apiserver-")
}
