package fidelity

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
)

// stores are where the plugins look for each kind of object.
func (s *scheduler) stores() map[string]cache.Indexer {
	core, storage := s.informers.Core().V1(), s.informers.Storage().V1()
	return map[string]cache.Indexer{
		kindOf(&corev1.PersistentVolumeClaim{}): core.PersistentVolumeClaims().Informer().GetIndexer(),
		kindOf(&corev1.PersistentVolume{}):      core.PersistentVolumes().Informer().GetIndexer(),
		kindOf(&storagev1.StorageClass{}):       storage.StorageClasses().Informer().GetIndexer(),
		kindOf(&storagev1.CSIDriver{}):          storage.CSIDrivers().Informer().GetIndexer(),
		kindOf(&storagev1.CSIStorageCapacity{}): storage.CSIStorageCapacities().Informer().GetIndexer(),
		kindOf(&storagev1.CSINode{}):            storage.CSINodes().Informer().GetIndexer(),
		kindOf(&storagev1.VolumeAttachment{}):   storage.VolumeAttachments().Informer().GetIndexer(),
	}
}

func kindOf(o metav1.Object) string { return fmt.Sprintf("%T", o) }

// loadStorage shows the plugins a cluster's storage.
func (s *scheduler) loadStorage(c *cluster) error {
	objects := map[string][]any{}
	for _, o := range c.storage {
		objects[kindOf(o)] = append(objects[kindOf(o)], o)
	}
	for kind, store := range s.stores() {
		if err := store.Replace(objects[kind], ""); err != nil {
			return err
		}
	}
	return nil
}

// assumed are the pods that were sent to a node before, in the order in which Muster counts them.
func (c *cluster) assumed() []*corev1.Pod {
	var out []*corev1.Pod
	for _, p := range c.pods {
		if p.Spec.NodeName == "" && p.Status.NominatedNodeName != "" {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b *corev1.Pod) int {
		return strings.Compare(a.Status.NominatedNodeName+"\x00"+a.Namespace+"\x00"+a.Name, b.Status.NominatedNodeName+"\x00"+b.Namespace+"\x00"+b.Name)
	})
	return out
}

// binder is kube-scheduler's VolumeBinding plugin, whose Reserve assumes what a pod's claims will get.
type binder struct {
	*volumebinding.VolumeBinding
	states map[*corev1.Pod]fwk.CycleState
}

// send does what the scheduler does for volumes once it has chosen a node for a pod.
func (b *binder) send(ctx context.Context, p *corev1.Pod, node fwk.NodeInfo) {
	state := framework.NewCycleState()
	if _, status := b.PreFilter(ctx, state, p, nil); !status.IsSuccess() {
		return
	}
	if b.Filter(ctx, state, p, node).IsSuccess() && b.Reserve(ctx, state, p, node.Node().Name).IsSuccess() {
		b.states[p] = state
	}
}

// recall undoes send.
func (b *binder) recall(ctx context.Context, p *corev1.Pod, node string) {
	if state := b.states[p]; state != nil {
		b.Unreserve(ctx, state, p, node)
		delete(b.states, p)
	}
}
