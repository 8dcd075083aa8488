package replay

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider/gate"
)

// Pod reads a pod by its name.
func (k *kube) Pod(_ context.Context, ref v1alpha1.PodReference) (*corev1.Pod, error) {
	p := k.pods[k.podNames[podKey(ref.Namespace, ref.Name)]]
	if p == nil {
		return nil, notFound("pods", ref.Name)
	}
	return p, nil
}

// PodsOn reads the pods bound to a node.
func (k *kube) PodsOn(_ context.Context, node string) ([]corev1.Pod, error) {
	pods := k.podsOn(node)
	list := make([]corev1.Pod, 0, len(pods))
	for _, p := range pods {
		list = append(list, *p)
	}
	return list, nil
}

// Evict has this very pod stopped.
func (k *kube) Evict(ctx context.Context, ref v1alpha1.PodReference, p gate.Proof) error {
	if err := p.CoversPod(ref.UID, k.agenda.now, gate.Evict, gate.Preempt); err != nil {
		return err
	}
	return k.leave(ctx, ref)
}

func (k *kube) leave(ctx context.Context, ref v1alpha1.PodReference) error {
	p, err := k.thisPod(ctx, ref)
	if err != nil {
		return err
	}
	k.evict(p)
	return nil
}

// DeletePod has this very pod stopped: there are no budgets here.
func (k *kube) DeletePod(ctx context.Context, ref v1alpha1.PodReference, p gate.Proof) error {
	if err := p.CoversPod(ref.UID, k.agenda.now, gate.DeletePod); err != nil {
		return err
	}
	return k.leave(ctx, ref)
}

func (k *kube) thisPod(ctx context.Context, ref v1alpha1.PodReference) (*corev1.Pod, error) {
	p, err := k.Pod(ctx, ref)
	if err != nil {
		return nil, err
	}
	if p.UID != ref.UID {
		return nil, conflict("pods", ref.Name)
	}
	return p, nil
}

// SetPodCondition sets one condition of this very pod.
func (k *kube) SetPodCondition(ctx context.Context, ref v1alpha1.PodReference, c corev1.PodCondition) error {
	p, err := k.thisPod(ctx, ref)
	if err != nil {
		return err
	}
	c.LastProbeTime = metav1.NewTime(c.LastProbeTime.Truncate(time.Second))
	c.LastTransitionTime = metav1.NewTime(c.LastTransitionTime.Truncate(time.Second))
	if old := conditionOf(p, c.Type); old != nil && equality.Semantic.DeepEqual(*old, c) {
		return nil
	}
	k.changePod(p.UID, func(p *corev1.Pod) { setCondition(p, c) })
	return nil
}

// Nominate writes the nominated node of this very pod.
func (k *kube) Nominate(ctx context.Context, ref v1alpha1.PodReference, node string) error {
	p, err := k.thisPod(ctx, ref)
	if err != nil {
		return err
	}
	if p.Status.NominatedNodeName != node {
		k.changePod(p.UID, func(p *corev1.Pod) { p.Status.NominatedNodeName = node })
	}
	return nil
}
