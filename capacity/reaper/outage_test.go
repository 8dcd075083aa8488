package reaper_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/reaper"
)

// foreign is a node that Muster did not make, silent or not.
func (w *world) foreign(name string, silent bool) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if silent {
		out(n)
	}
	w.live.SetNode(n, start)
}

// Two dead nodes of five that are not Muster's stopped every release for as long as they were there.
func TestM20DeadForeignNodesStopNoRelease(t *testing.T) {
	w := newWorld(0)
	for i := range 3 {
		w.node(i)
	}
	w.foreign("theirs-0", true)
	w.foreign("theirs-1", true)
	d := w.decide(time.Hour)
	require.Equal(t, reaper.Idle, d.Reasons["p-000"])
	require.Len(t, d.Release, 3)
}

// Nor do foreign nodes that are well hide that ours are not.
func TestM20ForeignNodesHideNoOutage(t *testing.T) {
	w := newWorld(0)
	for i := range 4 {
		w.node(i)
	}
	w.mark(2, out)
	w.mark(3, out)
	for i := range 50 {
		w.foreign(fmt.Sprint("theirs-", i), false)
	}
	require.Equal(t, reaper.Outage, w.decide(time.Hour).Reasons["p-000"])
}

// Two of our own nodes that never come back hold up the others for six hours, and no longer.
func TestM20AnOutageEndsByItself(t *testing.T) {
	w := newWorld(0)
	for i := range 5 {
		w.node(i)
	}
	w.mark(3, out)
	w.mark(4, out)
	d := w.decide(capacity.OutageLasts - time.Minute)
	require.Equal(t, reaper.Outage, d.Reasons["p-000"])
	require.Empty(t, d.Release)
	require.Equal(t, time.Minute, d.Next, "it is looked at again when it ends")
	d = w.decide(capacity.OutageLasts)
	require.Equal(t, reaper.Idle, d.Reasons["p-000"])
	require.NotEmpty(t, d.Release)
	require.Equal(t, reaper.Idle, w.decide(400 * time.Hour).Reasons["p-000"])
}
