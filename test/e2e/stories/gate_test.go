package stories

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider/sim"
	"github.com/muster-sh/muster/test/e2e/stage"
)

// In these stories people and hardware change what Muster knows its machines by. No machine goes while a pod may be on it.

// attacked is a pool whose machines go only when the story says so.
type attacked struct{ *stage.Stage }

func newAttacked(t *testing.T, most int32, flags []string, edits ...func(*v1alpha1.NodePool)) *attacked {
	s := &attacked{stage.New(t, kit)}
	s.Backend(append([]string{"--boot-min=200ms", "--boot-median=300ms", "--boot-max=400ms", "--delete-time=300ms"}, flags...)...)
	s.Apply(stage.Pool("kept", most, []v1alpha1.Shape{stage.Shape("one-pod", "cpu", "2", "memory", "4Gi")}, edits...))
	return s
}

// running waits for a pod to run and reads it again.
func (s *attacked) running(pod *corev1.Pod) *corev1.Pod {
	s.T.Helper()
	s.AwaitRunning(soon, pod)
	got, err := s.Get(pod)
	require.NoError(s.T, err)
	return got
}

// serving is a pod that runs on a machine of its own, and the claim of that.
func (s *attacked) serving(name string) (*corev1.Pod, v1alpha1.NodeClaim) {
	s.T.Helper()
	pod := s.running(s.Create(s.Pod(name, stage.Resources("cpu", "1500m")))[0])
	claim := s.AwaitClaims(soon, "kept", 1, v1alpha1.ClaimReady)[0]
	s.WholeAndPaired()
	return pod, claim
}

// onNode is a pod that is bound to a Node whatever its taints and its condition.
func (s *attacked) onNode(name, node string) *corev1.Pod {
	s.T.Helper()
	return s.Create(s.Pod(name, stage.Resources("cpu", "100m"), stage.WithToleration(""), func(p *corev1.Pod) { p.Spec.NodeName = node }))[0]
}

// protect has a budget forbid the eviction of the story's pods.
func (s *attacked) protect() {
	s.T.Helper()
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "all-stay"}, Spec: policyv1.PodDisruptionBudgetSpec{
		MinAvailable: new(intstr.FromInt32(99)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "story"}},
	}}
	_, err := s.Plane.Client.PolicyV1().PodDisruptionBudgets(s.Namespace).Create(s.Ctx, budget, metav1.CreateOptions{})
	require.NoError(s.T, err)
}

func (s *attacked) kubectl(args ...string) {
	s.T.Helper()
	_, err := s.Plane.Kubectl(s.Ctx, args...)
	require.NoError(s.T, err)
}

// release asks for a claim's machine as people do, without a drain: Muster waits for its pods and does not take the release back.
func release(s *stage.Stage, claim string) {
	s.T.Helper()
	s.ChangeClaim(claim, func(c *v1alpha1.NodeClaim) {
		c.Spec.Release = &v1alpha1.Release{Reason: "Requested", Since: metav1.NewMicroTime(time.Now())}
	})
}

// anew is the Node of a kubelet that registers, on the machine of another Node.
func (s *attacked) anew(old *corev1.Node, name string) *corev1.Node {
	s.T.Helper()
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{sim.KwokAnnotation: "fake"},
			Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"}},
		Spec: corev1.NodeSpec{ProviderID: old.Spec.ProviderID,
			Taints: []corev1.Taint{{Key: v1alpha1.StartingTaint, Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{Capacity: old.Status.Capacity, Allocatable: old.Status.Allocatable, NodeInfo: old.Status.NodeInfo},
	}
	made, err := s.Plane.Client.CoreV1().Nodes().Create(s.Ctx, n, metav1.CreateOptions{})
	require.NoError(s.T, err)
	return made
}

// isReady wants a Node to be Ready.
func (s *attacked) isReady(name string) func() error {
	return func() error {
		n, err := s.Plane.Client.CoreV1().Nodes().Get(s.Ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		}) {
			return fmt.Errorf("node %s is not Ready", name)
		}
		return nil
	}
}

// untouched wants no machine to have been deleted or stopped, nor to have been asked to be, and the pods to be where they were.
func (s *attacked) untouched(pods ...*corev1.Pod) func() error {
	return func() error {
		switch n, err := s.destroyed(); {
		case err != nil:
			return err
		case n > 0:
			return fmt.Errorf("%d machines were to be deleted or stopped", n)
		}
		for _, p := range pods {
			switch got, err := s.Get(p); {
			case err != nil:
				return fmt.Errorf("pod %s: %w", p.Name, err)
			case got.DeletionTimestamp != nil:
				return fmt.Errorf("pod %s is going", p.Name)
			}
		}
		return nil
	}
}

// destroyed counts the calls that delete or stop a machine.
func (s *attacked) destroyed() (n int, err error) {
	calls, err := s.Sim.Calls(s.Ctx)
	for _, c := range calls {
		if c.Verb == "delete" || c.Verb == "stop" {
			n++
		}
	}
	return n, err
}

// passed waits for time to pass: it is what shows that nothing is done.
func passed(d time.Duration) func() error {
	begin := time.Now()
	return func() error {
		if time.Since(begin) < d {
			return errNotYet
		}
		return nil
	}
}

// claim reads a claim again.
func (s *attacked) claim(name string) (*v1alpha1.NodeClaim, error) {
	var c v1alpha1.NodeClaim
	err := s.Plane.Objects.Get(s.Ctx, client.ObjectKey{Name: name}, &c)
	return &c, err
}

// blocked wants a claim to say, in its condition and in an event, that its machine is kept, and why.
func (s *attacked) blocked(claim v1alpha1.NodeClaim, reason string, texts ...string) func() error {
	return func() error {
		c, err := s.claim(claim.Name)
		if err != nil {
			return stage.Never("read claim %s: %w", claim.Name, err)
		}
		why := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReleaseBlocked)
		if why == nil || why.Status != metav1.ConditionTrue || why.Reason != reason {
			return fmt.Errorf("claim %s is %s (%s), its condition is %+v", c.Name, c.Status.State, c.Status.Message, why)
		}
		for _, text := range texts {
			if !strings.Contains(why.Message, text) {
				return fmt.Errorf("claim %s does not say %q: %s", c.Name, text, why.Message)
			}
		}
		return s.told(claim, reason+": ")
	}
}

// told wants an event on a claim that has a text.
func (s *attacked) told(claim v1alpha1.NodeClaim, text string) error {
	lines, err := s.EventsOn(metav1.NamespaceAll, claim.UID)
	if err == nil && !strings.Contains(strings.Join(lines, "\n"), text) {
		err = fmt.Errorf("no event on claim %s says %q: %q", claim.Name, text, lines)
	}
	return err
}

// gone wants a claim, its machine and these Nodes to be gone.
func (s *attacked) gone(claim v1alpha1.NodeClaim, nodes ...string) func() error {
	return func() error {
		switch c, err := s.claim(claim.Name); {
		case apierrors.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("claim %s: %w", claim.Name, err)
		case c.UID == claim.UID:
			return fmt.Errorf("claim %s is %s: %s", c.Name, c.Status.State, c.Status.Message)
		}
		machines, err := s.Sim.List(s.Ctx)
		if err != nil {
			return err
		}
		for _, m := range machines {
			if m.ClaimUID == claim.UID {
				return fmt.Errorf("machine %s is %s", m.ID, m.State)
			}
		}
		return s.noNodes(nodes...)
	}
}

func (s *attacked) noNodes(names ...string) error {
	for _, name := range names {
		switch _, err := s.Plane.Client.CoreV1().Nodes().Get(s.Ctx, name, metav1.GetOptions{}); {
		case err == nil:
			return fmt.Errorf("node %s is there", name)
		case !apierrors.IsNotFound(err):
			return err
		}
	}
	return nil
}

// front puts a handler of the story between Muster and the backend. It gets what answers honestly.
func front(s *stage.Stage, handler func(honest http.Handler) http.Handler) {
	s.T.Helper()
	target, err := url.Parse(s.Sim.Service.URL)
	require.NoError(s.T, err)
	server := httptest.NewServer(handler(httputil.NewSingleHostReverseProxy(target)))
	s.T.Cleanup(func() { _ = server.Config.Close() })
	var p v1alpha1.Provider
	require.NoError(s.T, s.Plane.Objects.Get(s.Ctx, client.ObjectKey{Name: stage.SimProvider}, &p))
	p.Spec.Endpoint = server.URL
	require.NoError(s.T, s.Plane.Objects.Update(s.Ctx, &p))
}

// TestM01ANodeThatIsDeletedByHandDuringADrainTakesNoPodWithIt: a budget lets the pod not go, and a person deletes the Node. The
// machine stays as long as the pod is bound to the name, and the claim says so.
func TestM01ANodeThatIsDeletedByHandDuringADrainTakesNoPodWithIt(t *testing.T) {
	s := newAttacked(t, 1, nil)
	s.Place(stage.ReplicaOptions{})
	pod, claim := s.serving("db")
	s.protect()
	s.kubectl("delete", "nodeclaim", claim.Name, "--wait=false")
	s.Await(soon, "the drain to wait for the pod", func() error {
		c, err := s.claim(claim.Name)
		if err == nil && (c.Status.State != v1alpha1.ClaimDraining || !strings.Contains(c.Status.Message, "disruption budget")) {
			err = fmt.Errorf("it is %s: %s", c.Status.State, c.Status.Message)
		}
		return err
	})
	s.kubectl("delete", "node", claim.Status.NodeName)
	s.Hold(soon, "the claim to say why the machine stays", s.untouched(pod), s.blocked(claim, "NodeChanged", claim.Status.NodeName))
	s.Hold(soon, "more time than the machine once had", s.untouched(pod), passed(15*time.Second))

	s.Delete(pod)
	t.Logf("gone %s after its pod", s.Await(soon, "the machine to go after its pod", s.gone(claim, claim.Status.NodeName)).Round(100*time.Millisecond))
}

// TestM02AHostThatIsRenamedGoesWhenNoPodIsLeftOnEitherOfItsNodes: its kubelet registers anew under another name, the old Node stays.
// Both are closed for a release, which waits for the pods of both, and both go with the machine.
func TestM02AHostThatIsRenamedGoesWhenNoPodIsLeftOnEitherOfItsNodes(t *testing.T) {
	s := newAttacked(t, 1, nil)
	s.Place(stage.ReplicaOptions{})
	before, claim := s.serving("before")
	old := s.NodeOf(before)
	loseKubelet(s.Stage, old.Name)
	s.anew(old, "renamed")
	s.Await(soon, "the kubelet's new Node to be Ready", s.isReady("renamed"))
	after := s.onNode("after", "renamed")
	s.AwaitRunning(soon, after)
	release(s.Stage, claim.Name)
	s.Hold(soon, "more time than a release takes", s.untouched(before, after), passed(6*time.Second))
	s.Delete(before)
	s.Hold(soon, "the same with the pod of the new Node alone", s.untouched(after), passed(8*time.Second))
	for _, name := range []string{old.Name, "renamed"} {
		require.NoError(t, s.Fenced(name))
	}
	c, err := s.claim(claim.Name)
	require.NoError(t, err)
	require.Equal(t, "renamed", c.Status.NodeName, "the claim follows its machine")
	late := s.onNode("late", old.Name)
	s.Delete(after)
	s.Hold(soon, "the same with a pod of the old Node alone", s.untouched(late), passed(8*time.Second))
	s.Delete(late)
	t.Logf("gone %s after its last pod", s.Await(soon, "machine and both Nodes to go", s.gone(claim, old.Name, "renamed")).Round(100*time.Millisecond))
}

// factory stands before the backend: all of its machines have one system UUID and no provider ID.
type factory struct{ honest http.Handler }

const soldTwice = "4c4c4544-0052-3510-8051-b2c04f4e3732"

func (f factory) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	told := httptest.NewRecorder()
	f.honest.ServeHTTP(told, r)
	var answer map[string]any
	if json.Unmarshal(told.Body.Bytes(), &answer) != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	alike(answer)
	if list, ok := answer["machines"].([]any); ok {
		for _, m := range list {
			alike(m.(map[string]any))
		}
	}
	w.WriteHeader(told.Code)
	_ = json.NewEncoder(w).Encode(answer)
}

func alike(machine map[string]any) {
	if _, ok := machine["systemUUID"]; !ok {
		return
	}
	delete(machine, "providerID")
	machine["systemUUID"] = soldTwice
	if id, ok := machine["identity"].(map[string]any); ok {
		id["systemUUID"] = soldTwice
	}
}

// TestM03TwoMachinesThatShareASystemUUIDAreBothKept: their kubelets register with one system UUID and without a provider ID. When
// the time to join is over, and when people delete both claims, neither machine is touched; each claim names the other.
func TestM03TwoMachinesThatShareASystemUUIDAreBothKept(t *testing.T) {
	const boards = 2
	s := newAttacked(t, boards, []string{"--never-join=100"}, func(p *v1alpha1.NodePool) {
		p.Spec.Limits.MinNodes = boards
		p.Spec.ScaleUp.RegistrationTimeout = &metav1.Duration{Duration: 12 * time.Second}
	})
	front(s.Stage, func(honest http.Handler) http.Handler { return factory{honest} })
	s.Place(stage.ReplicaOptions{})
	claims := s.AwaitClaims(soon, "kept", boards, v1alpha1.ClaimJoining)
	var pods []*corev1.Pod
	for _, c := range claims {
		room := c.Spec.Resources.DeepCopy()
		s.Node(c.Name, room, func(n *corev1.Node) {
			n.Status.NodeInfo = corev1.NodeSystemInfo{SystemUUID: soldTwice, MachineID: soldTwice, OperatingSystem: "linux", Architecture: "amd64"}
		})
		pods = append(pods, s.onNode("on-"+c.Name, c.Name))
	}
	s.AwaitRunning(soon, pods...)
	each := func(name func(v1alpha1.NodeClaim) []string) func() error {
		return func() error {
			for i, c := range claims {
				if err := s.blocked(c, "IdentityAmbiguous", name(claims[1-i])...)(); err != nil {
					return err
				}
			}
			return nil
		}
	}
	s.Hold(soon, "each claim to name the other when its time is over", s.untouched(pods...),
		each(func(other v1alpha1.NodeClaim) []string { return []string{other.Name} }))
	s.Hold(soon, "some time after that", s.untouched(pods...), passed(5*time.Second))

	for _, c := range claims {
		s.kubectl("delete", "nodeclaim", c.Name, "--wait=false")
	}
	s.Hold(soon, "the gate to name the other machine", s.untouched(pods...), each(func(other v1alpha1.NodeClaim) []string {
		return []string{"the machine of claim " + other.Name, soldTwice, "muster confirm-gone"}
	}))
	s.Hold(soon, "more time than a release takes", s.untouched(pods...), passed(8*time.Second))
}

// TestANodeThatIsMadeAnewWithinSecondsKeepsItsPods: a person deletes the Node, and the kubelet registers it again with another UID. The
// pods run on, the claim follows the new Node, and nothing is destroyed; later the machine is released as ever.
func TestANodeThatIsMadeAnewWithinSecondsKeepsItsPods(t *testing.T) {
	s := newAttacked(t, 1, nil)
	s.Place(stage.ReplicaOptions{})
	pod, claim := s.serving("web")
	old := s.NodeOf(pod)
	s.kubectl("delete", "node", old.Name)
	s.Hold(soon, "a kubelet to find out", s.untouched(pod), passed(5*time.Second))
	again := s.anew(old, old.Name)
	require.NotEqual(t, old.UID, again.UID)
	s.Hold(soon, "the claim to follow the new Node", s.untouched(pod), func() error {
		c, err := s.claim(claim.Name)
		if err == nil && (c.UID != claim.UID || c.Status.State != v1alpha1.ClaimReady || c.Status.NodeUID != again.UID) {
			err = fmt.Errorf("it is %s with node UID %s: %s", c.Status.State, c.Status.NodeUID, c.Status.Message)
		}
		return err
	})
	s.WholeAndPaired()
	s.AwaitRunning(soon, pod)
	s.Hold(soon, "some time after that", s.untouched(pod), passed(5*time.Second))
	require.Empty(t, s.Diary.Deleted())
	require.Len(t, s.Machines(), 1)

	s.Delete(pod)
	release(s.Stage, claim.Name)
	s.Await(soon, "the machine to go", s.gone(claim, old.Name))
}

// TestM05ANodeThatKeepsItsStartupTaintKeepsItsPods: the time to become ready is over, and a pod that tolerates everything runs there.
// The machine goes when the pod has gone.
func TestM05ANodeThatKeepsItsStartupTaintKeepsItsPods(t *testing.T) {
	s := newAttacked(t, 1, nil, func(p *v1alpha1.NodePool) {
		p.Spec.Limits.MinNodes = 1
		p.Spec.ScaleUp.RegistrationTimeout = &metav1.Duration{Duration: 12 * time.Second}
		p.Spec.Template.StartupTaints = []corev1.Taint{{Key: "example.org/network", Effect: corev1.TaintEffectNoSchedule}}
	})
	s.Place(stage.ReplicaOptions{})
	s.Stock()
	claim := s.AwaitClaims(soon, "kept", 1, v1alpha1.ClaimStarting)[0]
	pod := s.running(s.Create(s.Pod("agent", stage.Resources("cpu", "1"), stage.WithScheduler(corev1.DefaultSchedulerName), stage.WithToleration("")))[0])
	s.Hold(soon, "the claim to say why the machine stays", s.untouched(pod), s.blocked(claim, "PodsOnNode", s.Namespace+"/"+pod.Name))
	require.NoError(t, s.isReady(s.NodeOf(pod).Name)())
	s.Hold(soon, "some time after that", s.untouched(pod), passed(8*time.Second))

	s.Delete(pod)
	took := s.Await(soon, "the machine to go after its pod", func() error {
		switch n, err := s.destroyed(); {
		case err != nil:
			return err
		case n == 0:
			return errors.New("nothing was asked of the backend")
		}
		machines, err := s.Sim.List(s.Ctx)
		for _, m := range machines {
			if m.ClaimUID == claim.UID && m.Attempt == claim.Status.Attempts {
				return fmt.Errorf("machine %s is %s", m.ID, m.State)
			}
		}
		return err
	})
	t.Logf("gone %s after its pod", took.Round(100*time.Millisecond))
}

// burning stands before the backend, which answers nobody any more when it is burnt.
type burning struct {
	honest http.Handler
	burnt  *atomic.Bool
}

func (b burning) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if b.burnt.Load() {
		panic(http.ErrAbortHandler)
	}
	b.honest.ServeHTTP(w, r)
}

// TestAPersonsWordEndsAClaimWhoseBackendBurnt: the backend answers nobody any more. The claim waits until a person says that its
// machine is gone, which is not believed while its Node is Ready.
func TestAPersonsWordEndsAClaimWhoseBackendBurnt(t *testing.T) {
	s := newAttacked(t, 1, nil)
	var burnt atomic.Bool
	front(s.Stage, func(honest http.Handler) http.Handler { return burning{honest, &burnt} })
	s.Place(stage.ReplicaOptions{})
	pod, claim := s.serving("web")
	s.Delete(pod)
	burnt.Store(true)
	s.kubectl("delete", "nodeclaim", claim.Name, "--wait=false")
	s.Hold(soon, "the provider to be asked in vain", s.untouched(), func() error {
		c, err := s.claim(claim.Name)
		if err == nil && (c.Status.State != v1alpha1.ClaimReleasing || c.Status.Errors == 0) {
			err = fmt.Errorf("it is %s with %d errors: %s", c.Status.State, c.Status.Errors, c.Status.Message)
		}
		return err
	})
	confirm := func(machine string, flags ...string) error {
		_, err := s.Kit.Muster(s.Ctx, append([]string{"confirm-gone", claim.Name, "--machine=" + machine, "--attempt=1", "--user=ann",
			"--kubeconfig=" + s.Plane.AdminKubeconfig}, flags...)...)
		return err
	}
	machine := claim.Status.MachineID
	require.ErrorContains(t, confirm(machine, "--yes"), "node "+claim.Status.NodeName+" is Ready")

	s.kubectl("annotate", "nodeclaim", claim.Name, v1alpha1.ConfirmGoneAnnotation+"="+machine+"/1 bob")
	s.Hold(soon, "the word of a person who did not look to be refused", s.untouched(), s.blocked(claim, "WordNotTaken", "bob", "is Ready"))
	s.Await(soon, "that word to be off the claim", func() error {
		c, err := s.claim(claim.Name)
		if err == nil && c.Annotations[v1alpha1.ConfirmGoneAnnotation] != "" {
			err = errNotYet
		}
		return err
	})

	loseKubelet(s.Stage, claim.Status.NodeName)
	require.ErrorContains(t, confirm("other", "--yes"), "the machine of NodeClaim "+claim.Name+" is "+machine)
	require.ErrorContains(t, confirm(machine), "give --yes when all of this is true")
	require.NoError(t, confirm(machine, "--yes"))
	took := s.Await(soon, "the claim and its Node to go", func() error {
		switch c, err := s.claim(claim.Name); {
		case err == nil:
			return fmt.Errorf("it is %s: %s; %+v", c.Status.State, c.Status.Message, c.Status.Conditions)
		case !apierrors.IsNotFound(err):
			return err
		}
		return s.noNodes(claim.Status.NodeName)
	})
	t.Logf("gone %s after the word", took.Round(100*time.Millisecond))
	require.NoError(t, s.told(claim, "MachineConfirmedGone: machine "+machine+" is gone, by the word of ann"))
	require.NoError(t, s.untouched()(), "the backend was never reached")
}
