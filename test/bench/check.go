package bench

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
)

// check recounts an answer from the pods' own specs, without any code of the planners: every pod has one machine, no
// machine carries more than it has after its overhead, and kube-scheduler's rules about other pods let every pod go where
// the answer has it, in some order. It knows what the pods of this comparison ask for, and no more.
func (m *market) check(a answer, pods []*corev1.Pod) error {
	if a.unserved > 0 {
		return fmt.Errorf("pods without a machine: %d of %d", a.unserved, len(pods))
	}
	seats := map[types.UID]int{}
	for i, bought := range a.machines {
		if len(bought.pods) == 0 {
			return fmt.Errorf("machine %d (%s) is bought for nobody", i, bought.shape)
		}
		if err := m.checkRoom(bought); err != nil {
			return fmt.Errorf("machine %d: %w", i, err)
		}
		for _, p := range bought.pods {
			if _, twice := seats[p.UID]; twice {
				return fmt.Errorf("pod %s has two machines", p.Name)
			}
			seats[p.UID] = i
		}
	}
	for _, p := range pods {
		if _, ok := seats[p.UID]; !ok {
			return fmt.Errorf("pod %s has no machine", p.Name)
		}
	}
	if stuck := fewestStuck(a, pods); stuck > 0 {
		return fmt.Errorf("pods that other pods keep off their machine, in whatever order they come: %d", stuck)
	}
	return nil
}

func (m *market) checkRoom(bought machine) error {
	it := m.byName[bought.shape]
	if it == nil || !slices.Contains(zones, bought.zone) {
		return fmt.Errorf("shape %q in zone %q is not for sale", bought.shape, bought.zone)
	}
	cpu, memory := free(it, corev1.ResourceCPU), free(it, corev1.ResourceMemory)
	for _, p := range bought.pods {
		r := p.Spec.Containers[0].Resources.Requests
		cpu, memory = cpu-r.Cpu().MilliValue(), memory-r.Memory().MilliValue()
	}
	if most := it.Capacity.Pods().Value(); cpu < 0 || memory < 0 || int64(len(bought.pods)) > most {
		return fmt.Errorf("%s carries too much: %d pods of %d, cpu left %dm, memory left %d", it.Name, len(bought.pods), most,
			cpu, memory/1000)
	}
	return nil
}

// free is what a machine offers to pods, in thousandths.
func free(it *cloudprovider.InstanceType, name corev1.ResourceName) int64 {
	capacity, overhead := it.Capacity[name], it.Overhead.Total()[name]
	return capacity.MilliValue() - overhead.MilliValue()
}
