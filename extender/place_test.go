package extender_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/extender"
)

func TestPlaceFilterOffersOneNodeAndHoldsIt(t *testing.T) {
	live := smallWorld()
	h := extender.New(config(live))
	r := filtered(t, post(h, "/place/filter", encode(t, named(workload("web", "1", "1Gi"), smallNames...))))
	require.Equal(t, []string{"open"}, *r.NodeNames)
	require.Nil(t, r.Nodes)
	require.Equal(t, "open", live.Held("uid-web"))
}

func TestPlaceFilterGivesAReasonForEveryNode(t *testing.T) {
	h := extender.New(config(smallWorld()))
	names := append([]string{"stranger"}, smallNames...)
	r := filtered(t, post(h, "/place/filter", encode(t, named(workload("big", "8", "1Gi"), names...))))
	require.Equal(t, []string{}, *r.NodeNames)
	require.Equal(t, extenderv1.FailedNodesMap{
		"stranger": "node(s) not yet seen by Muster", "open": "Insufficient cpu", "full": "Insufficient cpu",
		"leaving": "node(s) are being released", "coming": "node(s) are still starting",
	}, r.FailedAndUnresolvableNodes)
}

func TestPlaceFilterAnswersWholeNodesWithTheNodeAsItCame(t *testing.T) {
	h := extender.New(config(smallWorld()))
	sent := machine("open", "4", "8Gi")
	sent.Annotations = map[string]string{"kept": "as it is"}
	args := whole(workload("web", "1", "1Gi"), machine("full", "4", "8Gi"), sent)
	r := filtered(t, post(h, "/place/filter", encode(t, args)))
	require.Nil(t, r.NodeNames)
	require.Equal(t, []corev1.Node{*sent}, r.Nodes.Items)
}

func TestPlaceFilterWithoutNodes(t *testing.T) {
	h := extender.New(config(smallWorld()))
	r := filtered(t, post(h, "/place/filter", encode(t, named(workload("web", "1", "1Gi")))))
	require.Equal(t, []string{}, *r.NodeNames)
	r = filtered(t, post(h, "/place/filter", encode(t, whole(workload("web", "1", "1Gi")))))
	require.Empty(t, r.Nodes.Items)
	require.Empty(t, r.FailedAndUnresolvableNodes)
}

func TestPlaceFilterNumbersCallsByArrival(t *testing.T) {
	core := &fakeCore{}
	h := extender.New(config(core))
	for range 3 {
		post(h, "/place/filter", encode(t, named(workload("web", "1", "1Gi"), "open")))
	}
	require.Len(t, core.calls, 3)
	require.Less(t, core.calls[0].Number, core.calls[1].Number)
	require.Less(t, core.calls[1].Number, core.calls[2].Number)
	require.Equal(t, noon, core.calls[0].Now)
}

func TestPlaceFilterErrorsOfTheCore(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		code int
	}{
		{"a superseded call is an error of the scheduler, so that the pod is tried again", capacity.ErrSuperseded, 503},
		{"a call whose time is up", context.DeadlineExceeded, 503},
		{"a call whose caller went away", context.Canceled, 503},
		{"anything else", errors.New("broken"), 500},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := extender.New(config(&fakeCore{err: c.err}))
			w := post(h, "/place/filter", encode(t, named(workload("web", "1", "1Gi"), "open")))
			require.Equal(t, c.code, w.Code)
			requireErrorText(t, w.Body.Bytes())
		})
	}
}

func TestPlacePrioritizePrefersTheNodeThatStaysBusy(t *testing.T) {
	live := smallWorld()
	half := workload("half", "2", "1Gi")
	half.Spec.NodeName = "open"
	live.SetPod(half, noon)
	live.SetNode(machine("bare", "4", "8Gi"), noon)
	h := extender.New(config(live))
	w := post(h, "/place/prioritize", encode(t, named(workload("web", "1", "1Gi"), "bare", "open", "leaving", "stranger")))
	require.Equal(t, http.StatusOK, w.Code)
	var scores extenderv1.HostPriorityList
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &scores))
	require.Equal(t, extenderv1.HostPriorityList{
		{Host: "bare", Score: 1}, {Host: "open", Score: 8}, {Host: "leaving", Score: 0}, {Host: "stranger", Score: 0},
	}, scores)
}

// fakeCore records calls and answers what it is told.
type fakeCore struct {
	calls []capacity.Call
	err   error
	place func(ctx context.Context) // what happens inside Place
}

func (f *fakeCore) Place(ctx context.Context, call capacity.Call) (capacity.Placement, error) {
	if f.place != nil {
		f.place(ctx)
	} else {
		f.calls = append(f.calls, call)
	}
	if f.err != nil {
		return capacity.Placement{}, f.err
	}
	return capacity.Placement{}, ctx.Err()
}

func (f *fakeCore) Known(types.UID, string) *capacity.Pod                { return nil }
func (f *fakeCore) Compile(pod *corev1.Pod) *capacity.Pod                { return capacity.PodOf(pod) }
func (f *fakeCore) Veto(*corev1.Pod, string) capacity.Reason             { return capacity.Reason{} }
func (f *fakeCore) VetoObject(*corev1.Pod, *corev1.Node) capacity.Reason { return capacity.Reason{} }
func (f *fakeCore) Preferences(_ *corev1.Pod, nodes []string, _ int64) []int64 {
	return make([]int64, len(nodes))
}

func requireErrorText(t *testing.T, body []byte) string {
	t.Helper()
	var answer struct{ Error string }
	require.NoError(t, json.Unmarshal(body, &answer), string(body))
	require.NotEmpty(t, answer.Error)
	return answer.Error
}
