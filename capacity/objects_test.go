package capacity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
)

// A pool or Provider that was just written is known at once; the watch may still deliver the version before, or tell of its end first.
func TestAnOlderPoolOrProviderChangesNothing(t *testing.T) {
	l := capacity.NewLive(capacity.Schedulers{})
	m := func(version string, finalizers ...string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: "a", UID: "uid", ResourceVersion: version, Finalizers: finalizers}
	}
	l.SetPool(&v1alpha1.NodePool{ObjectMeta: m("10", "f")})
	l.SetPool(&v1alpha1.NodePool{ObjectMeta: m("9")})
	require.NotEmpty(t, l.Pool("a").Finalizers)
	l.SetProvider(&v1alpha1.Provider{ObjectMeta: m("10", "f")})
	l.SetProvider(&v1alpha1.Provider{ObjectMeta: m("9")})
	require.NotEmpty(t, l.Provider("a").Finalizers)
	l.ForgetPool("a")
	l.ForgetProvider("a")
	l.SetPool(&v1alpha1.NodePool{ObjectMeta: m("11")})
	l.SetProvider(&v1alpha1.Provider{ObjectMeta: m("11")})
	require.Nil(t, l.Pool("a"), "it is gone")
	require.Nil(t, l.Provider("a"))
	again := m("12")
	again.UID = "another"
	l.SetPool(&v1alpha1.NodePool{ObjectMeta: again})
	require.NotNil(t, l.Pool("a"))
}

func TestWhichProvidersTakeMachinesBack(t *testing.T) {
	deleted := new(metav1.NewTime(time.Unix(0, 0)))
	silent := []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "ListFailed"}}
	for name, c := range map[string]struct {
		provider *v1alpha1.Provider
		makes    bool
		takes    bool
	}{
		"one that is there":                       {&v1alpha1.Provider{}, true, true},
		"one that there is not":                   {nil, false, false},
		"one that does not answer":                {&v1alpha1.Provider{Status: v1alpha1.ProviderStatus{Conditions: silent}}, false, false},
		"one that is being deleted":               {&v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: deleted, Finalizers: []string{v1alpha1.ProviderFinalizer}}}, false, true},
		"one that is being deleted, and not held": {&v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: deleted}}, false, false},
		"one that is being deleted and does not answer": {&v1alpha1.Provider{
			ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: deleted, Finalizers: []string{v1alpha1.ProviderFinalizer}},
			Status:     v1alpha1.ProviderStatus{Conditions: silent}}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			v := &capacity.View{Providers: map[string]*v1alpha1.Provider{}}
			if c.provider != nil {
				v.Providers["px"] = c.provider
			}
			pool := &v1alpha1.NodePool{Spec: v1alpha1.NodePoolSpec{Provider: "px"}}
			require.Equal(t, c.takes, v.Answers(pool))
			why, _ := capacity.ProviderTrouble("px", c.provider)
			require.Equal(t, c.makes, why == "")
		})
	}
}
