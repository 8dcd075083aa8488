package stage

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// PlaceScheduler is the scheduler name that pods of place mode carry.
const PlaceScheduler = "muster"

// Resources reads pairs of a resource's name and a quantity.
func Resources(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i+1 < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

// Pod is a pod of one container for the place scheduler, with these requests; edits come last.
func (s *Stage) Pod(name string, requests corev1.ResourceList, edits ...func(*corev1.Pod)) *corev1.Pod {
	limits := corev1.ResourceList{}
	for name, q := range requests {
		if name != corev1.ResourceCPU && name != corev1.ResourceMemory && name != corev1.ResourceEphemeralStorage {
			limits[name] = q // extended resources cannot be overcommitted: the API server wants the limit too
		}
	}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.Namespace, Labels: map[string]string{"app": "story"}},
		Spec: corev1.PodSpec{
			SchedulerName: PlaceScheduler,
			Containers: []corev1.Container{{Name: "main", Image: "none.invalid/none",
				Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits}}},
		},
	}
	for _, edit := range edits {
		edit(p)
	}
	return p
}

// Create creates pods, sixteen at a time, and returns them as the API server has them, in the same order.
func (s *Stage) Create(pods ...*corev1.Pod) []*corev1.Pod {
	s.T.Helper()
	made := make([]*corev1.Pod, len(pods))
	s.sixteen(len(pods), func(i int) (err error) {
		made[i], err = s.Plane.Client.CoreV1().Pods(pods[i].Namespace).Create(s.Ctx, pods[i], metav1.CreateOptions{})
		return err
	})
	return made
}

// SayUnschedulable writes on pods what a scheduler writes that found no node for them.
func (s *Stage) SayUnschedulable(pods ...*corev1.Pod) {
	s.T.Helper()
	patch, err := json.Marshal(corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "told by the story",
	}}}})
	require.NoError(s.T, err)
	s.sixteen(len(pods), func(i int) error {
		_, err := s.Plane.Client.CoreV1().Pods(pods[i].Namespace).Patch(s.Ctx, pods[i].Name, types.StrategicMergePatchType, patch,
			metav1.PatchOptions{}, "status")
		return err
	})
}

// sixteen does something n times, sixteen at a time.
func (s *Stage) sixteen(n int, do func(i int) error) {
	s.T.Helper()
	errs := make([]error, n)
	var all sync.WaitGroup
	turns := make(chan struct{}, 16)
	for i := range n {
		turns <- struct{}{}
		all.Go(func() {
			errs[i] = do(i)
			<-turns
		})
	}
	all.Wait()
	require.NoError(s.T, errors.Join(errs...))
}

// Get reads a pod again.
func (s *Stage) Get(p *corev1.Pod) (*corev1.Pod, error) {
	got, err := s.Plane.Client.CoreV1().Pods(p.Namespace).Get(s.Ctx, p.Name, metav1.GetOptions{})
	if err == nil && got.UID != p.UID {
		return nil, Never("pod %s was replaced", p.Name)
	}
	return got, err
}

// List reads all pods of the story's namespace.
func (s *Stage) List() (map[types.UID]*corev1.Pod, error) { return s.list(s.Namespace) }

// ListAll reads all pods of all namespaces.
func (s *Stage) ListAll() (map[types.UID]*corev1.Pod, error) { return s.list(metav1.NamespaceAll) }

func (s *Stage) list(namespace string) (map[types.UID]*corev1.Pod, error) {
	list, err := s.Plane.Client.CoreV1().Pods(namespace).List(s.Ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	byUID := map[types.UID]*corev1.Pod{}
	for i := range list.Items {
		byUID[list.Items[i].UID] = &list.Items[i]
	}
	return byUID, nil
}

// AwaitRunning waits until every one of the pods runs.
func (s *Stage) AwaitRunning(within time.Duration, pods ...*corev1.Pod) time.Duration {
	s.T.Helper()
	return s.Await(within, fmt.Sprintf("%d pods to run", len(pods)), func() error { return s.Running(pods...) })
}

// Running is an error that tells of a pod that does not run, or nil.
func (s *Stage) Running(pods ...*corev1.Pod) error {
	now, err := s.List()
	if err != nil {
		return err
	}
	waiting := 0
	var first *corev1.Pod
	for _, p := range pods {
		got := now[p.UID]
		if got == nil {
			return Never("pod %s is gone", p.Name)
		}
		if got.Status.Phase != corev1.PodRunning {
			if waiting++; first == nil {
				first = got
			}
		}
	}
	if waiting > 0 {
		return fmt.Errorf("%d of %d pods do not run; the first is %s", waiting, len(pods), Describe(first))
	}
	return nil
}

// Unbound is an error when one of the pods is bound.
func (s *Stage) Unbound(pods ...*corev1.Pod) error {
	now, err := s.List()
	if err != nil {
		return err
	}
	for _, p := range pods {
		if got := now[p.UID]; got != nil && got.Spec.NodeName != "" {
			return fmt.Errorf("pod %s was bound to %s", p.Name, got.Spec.NodeName)
		}
	}
	return nil
}

// Describe is a pod in one line.
func Describe(p *corev1.Pod) string {
	text := fmt.Sprintf("%s: %s on %q, nominated %q", p.Name, p.Status.Phase, p.Spec.NodeName, p.Status.NominatedNodeName)
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled || c.Type == v1alpha1.CapacityCondition {
			text += fmt.Sprintf("; %s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	return text
}

// Condition finds a condition of a pod, or nil.
func Condition(p *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	i := slices.IndexFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
	if i < 0 {
		return nil
	}
	return &p.Status.Conditions[i]
}

// Events are the events on a pod, each as "Reason: message".
func (s *Stage) Events(p *corev1.Pod) ([]string, error) { return s.EventsOn(p.Namespace, p.UID) }

// EventsOn are the events in a namespace, or in all of them, on the object with this UID.
func (s *Stage) EventsOn(namespace string, uid types.UID) ([]string, error) {
	list, err := s.Plane.Client.CoreV1().Events(namespace).List(s.Ctx,
		metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(uid)})
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, e := range list.Items {
		lines = append(lines, e.Reason+": "+e.Message)
	}
	return lines, nil
}

// Delete deletes a pod at once.
func (s *Stage) Delete(p *corev1.Pod) {
	s.T.Helper()
	now := int64(0)
	err := s.Plane.Client.CoreV1().Pods(p.Namespace).Delete(s.Ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
	require.NoError(s.T, err)
}

// WithScheduler leaves the pod to another scheduler.
func WithScheduler(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.SchedulerName = name }
}

// WithNodeSelector asks for nodes with a label.
func WithNodeSelector(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{key: value} }
}

// WithToleration tolerates every taint of this key; the empty key is every taint.
func WithToleration(key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
	}
}

// WithHostPort wants a port of the node.
func WithHostPort(port int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: port, HostPort: port, Protocol: corev1.ProtocolTCP}}
	}
}
