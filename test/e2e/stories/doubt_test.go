package stories

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/stage"
)

// liar stands before the backend. It tells what Muster asks of it, and nobody else.
type liar struct {
	honest http.Handler
	tells  atomic.Value // string
}

// What a liar tells; empty is the truth.
const (
	truth    = ""
	nothing  = "there is nothing: an empty list, and no machine of any claim"
	half     = "every other machine is missing in the list"
	silence  = "no answer"
	nonsense = "a page"
)

func (l *liar) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	tells := l.tells.Load().(string)
	list := r.Method == http.MethodGet && r.URL.Path == "/machines"
	switch {
	case tells == silence:
		<-r.Context().Done()
	case tells == nonsense:
		_, _ = w.Write([]byte("<html>welcome</html>"))
	case tells == nothing && list:
		_, _ = w.Write([]byte(`{"machines":[],"complete":true}`))
	case tells == nothing && r.Method == http.MethodGet:
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"code":"NotFound","message":"no such machine"}`))
	case tells == half && list:
		l.half(w, r)
	default:
		l.honest.ServeHTTP(w, r)
	}
}

func (l *liar) half(w http.ResponseWriter, r *http.Request) {
	whole := httptest.NewRecorder()
	l.honest.ServeHTTP(whole, r)
	var list struct {
		Machines []json.RawMessage `json:"machines"`
		Complete bool              `json:"complete"`
	}
	if json.Unmarshal(whole.Body.Bytes(), &list) == nil {
		list.Machines = list.Machines[:len(list.Machines)/2]
	}
	_ = json.NewEncoder(w).Encode(list)
}

// TestABackendInDoubtLosesNobodyAMachine: while the backend says untrue things, or nothing, no machine, no claim and no node
// goes. When it is honest again, a machine whose claim somebody has torn away is found: it stays as long as a pod runs there,
// closed to others, and goes after that. Machines of another cluster, and of nobody knows which, stay.
func TestABackendInDoubtLosesNobodyAMachine(t *testing.T) {
	s := stage.New(t, kit)
	s.Backend("--delete-time=500ms")
	l := &liar{}
	l.tells.Store(truth)
	front(s, func(honest http.Handler) http.Handler {
		l.honest = honest
		return l
	})
	s.Apply(stage.Pool("doubt", 9, []v1alpha1.Shape{stage.Shape("one-pod", "cpu", "2", "memory", "4Gi")}))
	s.Place(stage.ReplicaOptions{})
	pods := s.Create(onePodEach(s, "resident", 4)...)
	s.AwaitRunning(soon, pods...)
	s.WholeAndPaired()

	for _, tale := range []string{nothing, half, silence, nonsense} {
		l.tells.Store(tale)
		said := time.Now()
		s.Hold(soon, "the tale to be told for a while", func() error { return all(s, 4) }, func() error {
			if time.Since(said) < 20*time.Second { // longer than a listing, and than the looks at machines
				return errNotYet
			}
			return nil
		})
	}
	l.tells.Store(truth)

	for cluster, slot := range map[string]string{"": "doubt-007", "another-cluster": "doubt-008"} {
		stranger(t, s.Sim.Service.URL, slot, cluster)
	}
	torn := s.MustClaims("doubt")[0]
	s.ChangeClaim(torn.Name, func(c *v1alpha1.NodeClaim) { c.Finalizers = nil })
	require.NoError(t, s.Plane.Objects.Delete(s.Ctx, &torn))
	begin := time.Now()
	s.Await(2*time.Minute, "the machine without a claim to be fenced", func() error { return s.Fenced(torn.Status.NodeName) })
	t.Logf("fenced %s after its claim was torn away", time.Since(begin).Round(time.Second))
	fenced := time.Now()
	s.Hold(soon, "two more listings", func() error { return all(s, 3) }, func() error {
		if time.Since(fenced) < 35*time.Second {
			return errNotYet
		}
		return nil
	})
	for _, pod := range pods {
		if got, err := s.Get(pod); err == nil && got.Spec.NodeName == torn.Status.NodeName {
			s.Delete(got)
		}
	}
	gone := s.Await(2*time.Minute, "the machine and its node to be gone", func() error {
		machines, err := s.Sim.List(s.Ctx)
		if err != nil {
			return err
		}
		_, err = s.Plane.Client.CoreV1().Nodes().Get(s.Ctx, torn.Status.NodeName, metav1.GetOptions{})
		if len(machines) != 3+2 || err == nil {
			return fmt.Errorf("there are %d machines, its node is there: %v", len(machines), err == nil)
		}
		return nil
	})
	t.Logf("gone %s after its pod left", gone.Round(time.Second))
}

// all wants so many claims Ready, and four machines with their nodes, that no mark closes but a fence.
func all(s *stage.Stage, ready int) error {
	machines, err := s.Sim.List(s.Ctx)
	if err != nil {
		return err
	}
	claims, err := s.Claims("doubt")
	if err != nil {
		return err
	}
	nodes, err := s.Plane.Client.CoreV1().Nodes().List(s.Ctx, metav1.ListOptions{LabelSelector: v1alpha1.PoolLabel})
	if err != nil {
		return err
	}
	for _, c := range claims {
		if c.Status.State != v1alpha1.ClaimReady {
			return fmt.Errorf("claim %s is %s: %s", c.Name, c.Status.State, c.Status.Message)
		}
	}
	if len(claims) != ready || len(machines) < 4 || len(nodes.Items) != 4 {
		return fmt.Errorf("%d claims, %d machines and %d nodes are left", len(claims), len(machines), len(nodes.Items))
	}
	return nil
}

// stranger is a machine that no claim of this cluster asked for.
func stranger(t *testing.T, backend, claim, cluster string) {
	body, err := json.Marshal(map[string]any{"claim": claim, "claimUID": "stranger-" + claim, "attempt": 1, "cluster": cluster,
		"resources": corev1.ResourceList{"cpu": stage.Resources("cpu", "2")["cpu"]}})
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, backend+"/machines", bytes.NewReader(body))
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, http.StatusOK, answer.StatusCode, strings.TrimSpace(answer.Status))
}
