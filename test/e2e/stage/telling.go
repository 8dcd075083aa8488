package stage

import (
	"fmt"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// NodeOf reads the node of a bound pod.
func (s *Stage) NodeOf(p *corev1.Pod) *corev1.Node {
	s.T.Helper()
	node, err := s.Plane.Client.CoreV1().Nodes().Get(s.Ctx, p.Spec.NodeName, metav1.GetOptions{})
	require.NoError(s.T, err)
	return node
}

// SchedulerSays wants a text in the pod's PodScheduled condition, which is what kube-scheduler made of all answers.
func (s *Stage) SchedulerSays(p *corev1.Pod, text string) error {
	got, err := s.Get(p)
	if err != nil {
		return err
	}
	c := Condition(got, corev1.PodScheduled)
	if c == nil || c.Status != corev1.ConditionFalse || !strings.Contains(c.Message, text) {
		return fmt.Errorf("%q is not said of %s", text, Describe(got))
	}
	return nil
}

// AllTried wants every pod to have been tried and left unbound.
func (s *Stage) AllTried(pods ...*corev1.Pod) error {
	now, err := s.List()
	if err != nil {
		return err
	}
	for _, p := range pods {
		if got := now[p.UID]; got == nil || Condition(got, corev1.PodScheduled) == nil {
			return fmt.Errorf("pod %s was not tried yet", p.Name)
		}
	}
	return nil
}

// AwaitNoHelp waits until the pod says, in its condition and in an event, that nothing can help it, and why.
func (s *Stage) AwaitNoHelp(within time.Duration, p *corev1.Pod, why string) {
	s.T.Helper()
	s.Await(within, "the pod to say why nothing can help it", func() error {
		got, err := s.Get(p)
		if err != nil {
			return err
		}
		c := Condition(got, v1alpha1.CapacityCondition)
		if c == nil || c.Status != corev1.ConditionFalse || !strings.Contains(c.Message, why) {
			return fmt.Errorf("%q is not in the condition: %s", why, Describe(got))
		}
		return s.eventSays(p, why)
	})
}

func (s *Stage) eventSays(p *corev1.Pod, text string) error {
	lines, err := s.Events(p)
	if err != nil {
		return err
	}
	for _, line := range lines {
		if strings.Contains(line, text) {
			return nil
		}
	}
	return fmt.Errorf("no event on %s says %q: %q", p.Name, text, lines)
}

// TellsItsStory wants events on the pod that name the claim it waited for: what was ordered, and that it joined.
func (s *Stage) TellsItsStory(p *corev1.Pod) {
	s.T.Helper()
	claim := s.NodeOf(p).Labels[v1alpha1.ClaimLabel]
	require.NotEmpty(s.T, claim)
	s.Await(30*time.Second, "events on the pod that name its claim", func() error { return s.eventSays(p, claim) })
	lines, err := s.Events(p)
	require.NoError(s.T, err)
	s.T.Logf("%s tells: %q", p.Name, lines)
	got, err := s.Get(p)
	require.NoError(s.T, err)
	require.NotNil(s.T, Condition(got, v1alpha1.CapacityCondition), "the condition is there")
}

// Nominated wants the pod to have been given a node though it is not bound yet.
func (s *Stage) Nominated(p *corev1.Pod) error {
	got, err := s.Get(p)
	if err != nil {
		return err
	}
	if got.Spec.NodeName != "" {
		return Never("%s is bound", p.Name)
	}
	if got.Status.NominatedNodeName == "" {
		return fmt.Errorf("no node yet: %s", Describe(got))
	}
	return nil
}

// BoundOf counts the bound among these pods.
func (s *Stage) BoundOf(pods ...*corev1.Pod) (n int, err error) {
	now, err := s.List()
	if err != nil {
		return 0, err
	}
	for _, p := range pods {
		if got := now[p.UID]; got != nil && got.Spec.NodeName != "" {
			n++
		}
	}
	return n, nil
}

// AtLeastBound wants so many of the pods bound.
func (s *Stage) AtLeastBound(n int, pods ...*corev1.Pod) error {
	bound, err := s.BoundOf(pods...)
	if err == nil && bound < n {
		err = fmt.Errorf("%d of %d are bound", bound, n)
	}
	return err
}

// AwaitBoundSince waits until a pod is bound and says how long after begin that was.
func (s *Stage) AwaitBoundSince(within time.Duration, begin time.Time, p *corev1.Pod) time.Duration {
	s.T.Helper()
	var at time.Time
	s.Await(within, "pod "+p.Name+" to be bound", func() error {
		var bound bool
		if at, bound = s.Diary.Bound(p.UID); !bound {
			got, err := s.Get(p)
			if err != nil {
				return err
			}
			return fmt.Errorf("not bound: %s", Describe(got))
		}
		return nil
	})
	return at.Sub(begin)
}

// DiaryHasBound wants every pod to have been seen bound.
func (s *Stage) DiaryHasBound(pods ...*corev1.Pod) error {
	waiting := 0
	for _, p := range pods {
		if _, bound := s.Diary.Bound(p.UID); !bound {
			waiting++
		}
	}
	if waiting > 0 {
		return fmt.Errorf("%d of %d pods are not bound", waiting, len(pods))
	}
	return nil
}

// BoundBetween is when the first and when the last of these pods was seen bound.
func (s *Stage) BoundBetween(pods ...*corev1.Pod) (first, last time.Time) {
	for _, p := range pods {
		at, bound := s.Diary.Bound(p.UID)
		if bound && (first.IsZero() || at.Before(first)) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	return first, last
}

// DeletePods deletes all pods of the story and waits until they are gone.
func (s *Stage) DeletePods() {
	s.T.Helper()
	now := int64(0)
	require.NoError(s.T, s.Plane.Client.CoreV1().Pods(s.Namespace).DeleteCollection(s.Ctx,
		metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{}))
	s.Await(2*time.Minute, "the pods to be gone", func() error {
		left, err := s.List()
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%d pods are left", len(left))
		}
		return err
	})
}
