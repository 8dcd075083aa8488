package promises

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/stage"
	"github.com/muster-sh/muster/test/e2e/world"
)

// TestPlansAreKept: every pod for which a plan promised a node is bound, no machine that was bought stays empty, what
// is bought is what the plan said, and a pod that waits says why. That the scheduler, which tries pods in an order of its own,
// finds a node for one more breaks no promise; it is logged.
func TestPlansAreKept(t *testing.T) {
	chosen, err := world.Parse(*kinds)
	require.NoError(t, err)
	s := newScene(t, 300*time.Millisecond)
	for i := range uint64(*clusters) {
		t.Run(fmt.Sprintf("cluster-%d", *first+i), func(t *testing.T) {
			w := world.New(*first+i, chosen...)
			s := s.part(t)
			defer s.Wipe(*patience)
			s.keep(w)
		})
	}
}

// keep tries one cluster. Muster is paused until all pods wait, so that it sees them at once, and the scheduler until
// everything was ordered: it places who fits before the first machine is there, as it would where machines take minutes.
func (s *scene) keep(w *world.World) {
	s.T.Helper()
	s.replica.Scheduler.Pause()
	defer s.replica.Scheduler.Resume()
	s.set(w)
	s.replica.Muster.Pause()
	defer s.replica.Muster.Resume()
	pending := s.Create(w.Pending...)
	s.unschedulable(pending)
	said := s.ask(w, "cluster")
	s.replica.Muster.Resume()
	s.T.Logf("%d nodes, %d pods run, %d wait; the plan: %v, buys %v", len(w.Nodes), len(w.Bound), len(pending), tally(said), said.bought())
	defer s.tell(w)

	s.Await(*patience, "every pod to be told what the plan says", func() error { return s.told(pending, said) })
	s.replica.Scheduler.Resume()
	s.Await(*patience, "the machines to come", func() error { return s.came(said) })
	s.Hold(*patience, "every promise to be kept", func() error { return s.noMore(said) },
		func() error { return s.kept(pending, said) })

	s.T.Logf("%d pods are bound that were promised nothing", s.lucky(pending, said))
	require.NoError(s.T, s.notEmpty(said))
	require.NoError(s.T, s.whole(said))
	again := s.ask(w, "afterwards")
	require.Empty(s.T, again.Machines, "planning again buys nothing")
	for name, fate := range again.fates() {
		require.Equal(s.T, unserved, fate, "planning again helps nobody else: %s", name)
	}
}

func tally(p plan) map[string]int {
	n := map[string]int{}
	for _, pod := range p.Pods {
		n[pod.Fate]++
	}
	return n
}

// tell leaves behind what a reader of a failure wants.
func (s *scene) tell(w *world.World) {
	if s.T.Failed() {
		s.Plane.Keep()
		s.T.Logf("the cluster, the plan and what came of it are in %s", s.folder(w))
		s.SaveCluster(s.folder(w) + "/broken.yaml")
	}
}

// pods are all pods of the cluster.
func (s *scene) pods() (map[types.UID]*corev1.Pod, error) { return s.ListAll() }

// told wants Muster to have made the same plan: the same machines, and every pod told whether there is help.
func (s *scene) told(pending []*corev1.Pod, said plan) error {
	if err := s.whole(said); err != nil {
		return err
	}
	now, err := s.pods()
	if err != nil {
		return err
	}
	fates := said.fates()
	for _, p := range pending {
		fate, counted := fates[p.Namespace+"/"+p.Name]
		if !counted {
			continue // it is held back by a gate
		}
		c := stage.Condition(now[p.UID], v1alpha1.CapacityCondition)
		if c == nil {
			return fmt.Errorf("%s was told nothing yet", p.Name)
		}
		// A pod whose machine has come is already told of the room there.
		if help := c.Reason == "MachineOrdered" || c.Status == corev1.ConditionTrue; help != (fate != unserved) {
			return fmt.Errorf("the plan says %s of %s, Muster told it %s: %s", fate, p.Name, c.Reason, c.Message)
		}
	}
	return nil
}

// came wants all machines to be ready. Startup taints are taken off, as an agent on the node would.
func (s *scene) came(said plan) error {
	if err := s.TakeOff(world.StartupTaint); err != nil {
		return err
	}
	claims, err := s.Claims("")
	if err != nil {
		return err
	}
	for _, c := range claims {
		if c.Status.State != v1alpha1.ClaimReady {
			return fmt.Errorf("claim %s is %s: %s", c.Name, c.Status.State, c.Status.Message)
		}
	}
	return s.whole(said)
}

// whole wants exactly the machines of the plan.
func (s *scene) whole(said plan) error {
	claims, err := s.Claims("")
	if err != nil {
		return err
	}
	bought := map[string]int{}
	for _, c := range claims {
		bought[c.Spec.Pool+"/"+c.Spec.Shape]++
	}
	if wanted := said.bought(); fmt.Sprint(wanted) != fmt.Sprint(bought) {
		return fmt.Errorf("the plan buys %v, Muster bought %v", wanted, bought)
	}
	return nil
}

// noMore wants no machine beyond the plan.
func (s *scene) noMore(said plan) error {
	claims, err := s.Claims("")
	if err == nil && len(claims) > len(said.Machines) {
		err = fmt.Errorf("the plan buys %d machines, Muster bought %d", len(said.Machines), len(claims))
	}
	return err
}

// kept wants as many pods bound as were promised a node, of each sort of twins, and every other one waiting with a reason.
func (s *scene) kept(pending []*corev1.Pod, said plan) error {
	if err := s.provision(); err != nil {
		return err
	}
	now, err := s.pods()
	if err != nil {
		return err
	}
	due, fates := map[string]int{}, said.fates()
	for _, p := range pending {
		if fate, counted := fates[p.Namespace+"/"+p.Name]; counted && fate != unserved {
			due[twins(p)]++
		}
	}
	var waiting []*corev1.Pod
	for _, p := range pending {
		switch got := now[p.UID]; {
		case got == nil:
			return stage.Never("pod %s is gone", p.Name)
		case got.Spec.NodeName == "":
			waiting = append(waiting, got)
		default:
			due[twins(p)]--
		}
	}
	for _, p := range waiting {
		if n := due[twins(p)]; n > 0 {
			return fmt.Errorf("%d pods like this one were promised a node and wait: %s", n, stage.Describe(p))
		}
		_, counted := fates[p.Namespace+"/"+p.Name]
		if c := stage.Condition(p, v1alpha1.CapacityCondition); counted && (c == nil || c.Status != corev1.ConditionFalse || c.Message == "") {
			return fmt.Errorf("it does not say why it waits: %s", stage.Describe(p))
		}
	}
	return nil
}

// lucky is how many pods are bound beyond those that were promised a node.
func (s *scene) lucky(pending []*corev1.Pod, said plan) (n int) {
	now, err := s.pods()
	require.NoError(s.T, err)
	for _, p := range pending {
		if now[p.UID].Spec.NodeName != "" {
			n++
		}
	}
	for _, fate := range said.fates() {
		if fate != unserved {
			n--
		}
	}
	return n
}

// twins is equal for pods that nobody can tell apart but by name: which of them gets a node is up to the scheduler, which
// may try them in another order than the plan.
func twins(p *corev1.Pod) string {
	bare := p.Spec.DeepCopy()
	token := func(name string) bool { return strings.HasPrefix(name, "kube-api-access-") } // each pod has one of its own
	for _, v := range bare.Volumes {
		if c := v.PersistentVolumeClaim; c != nil && c.ClaimName == p.Name {
			c.ClaimName = "" // the claims of a class are alike
		}
	}
	bare.Volumes = slices.DeleteFunc(bare.Volumes, func(v corev1.Volume) bool { return token(v.Name) })
	for i := range bare.Containers {
		c := &bare.Containers[i]
		c.VolumeMounts = slices.DeleteFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return token(m.Name) })
	}
	spec, err := json.Marshal(bare)
	if err != nil {
		panic(err) // a pod is made of values
	}
	return fmt.Sprint(p.Namespace, p.Labels, string(spec))
}

// notEmpty wants a pod of somebody's on every machine that was bought for pods.
func (s *scene) notEmpty(said plan) error {
	now, err := s.pods()
	if err != nil {
		return err
	}
	guests := map[string]int{}
	for _, p := range now {
		if len(p.OwnerReferences) == 0 {
			guests[p.Spec.NodeName]++
		}
	}
	claims, err := s.Claims("")
	if err != nil {
		return err
	}
	node := map[string]string{}
	for _, c := range claims {
		node[c.Name] = c.Status.NodeName
	}
	for _, m := range said.Machines {
		if len(m.Pods) > 0 && guests[node[m.Claim]] == 0 {
			return fmt.Errorf("nobody uses %s, bought for %v", m.Claim, m.Pods)
		}
	}
	return nil
}

// unschedulable says of the pods what their scheduler would if it had tried them in vain: it is paused.
func (s *scene) unschedulable(pods []*corev1.Pod) {
	s.T.Helper()
	var wanting []*corev1.Pod
	for _, p := range pods {
		if len(p.Spec.SchedulingGates) == 0 {
			wanting = append(wanting, p)
		}
	}
	s.SayUnschedulable(wanting...)
}
