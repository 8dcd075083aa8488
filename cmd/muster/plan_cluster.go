package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/api/manifest"
	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/lifecycle"
)

// savedCluster is what the files of a plan hold.
type savedCluster struct {
	pools   *manifest.Pools
	cluster *manifest.Cluster
	// notes are what the reader should know before believing the plan.
	notes []string
}

// view takes everything in and counts every pod that waits for a node of these schedulers (none named: of all).
func (s *savedCluster) view(schedulers []string, now time.Time) *capacity.View {
	wanted := sets.New(schedulers...)
	for _, p := range s.cluster.Pods {
		if len(schedulers) == 0 {
			wanted.Insert(p.Spec.SchedulerName)
		}
	}
	live := capacity.NewLive(capacity.Schedulers{Guard: wanted})
	s.takePools(live)
	for _, c := range s.cluster.DeviceClasses {
		live.SetDeviceClass(c)
	}
	for _, d := range s.cluster.DaemonSets {
		live.SetDaemonSet(d)
	}
	s.takeStorage(live)
	for _, c := range s.cluster.Claims {
		live.SetClaim(c)
	}
	for _, n := range s.cluster.Nodes {
		live.SetNode(n, now)
	}
	s.takePods(live, wanted, now)
	live.Expire(now)
	s.noteIgnored()
	return live.View()
}

// takeStorage takes in what decides where volumes can be had, and what else rules about pods refer to.
func (s *savedCluster) takeStorage(live *capacity.Live) {
	claims := 0
	for _, o := range s.cluster.Storage {
		live.SetStorage(o)
		if _, ok := o.(*corev1.PersistentVolumeClaim); ok {
			claims++
		}
	}
	for _, n := range s.cluster.Namespaces {
		live.SetNamespace(n)
	}
	for _, b := range s.cluster.Budgets {
		live.SetDisruptionBudget(b)
	}
	if claims == 0 && slices.ContainsFunc(s.cluster.Pods, usesClaim) {
		s.notes = append(s.notes, "Pods use PersistentVolumeClaims, and no file holds any: such pods cannot be served.")
	}
}

func usesClaim(p *corev1.Pod) bool {
	return p.Spec.NodeName == "" && slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil || v.Ephemeral != nil
	})
}

// takePools takes in pools, and a Provider for each that has none: whether a backend answers cannot be seen from here.
func (s *savedCluster) takePools(live *capacity.Live) {
	known := sets.Set[string]{}
	for _, p := range s.pools.Providers {
		live.SetProvider(p)
		known.Insert(p.Name)
	}
	for _, p := range s.pools.Pools {
		live.SetPool(p)
		for _, bad := range lifecycle.Unfillable(p) {
			s.notes = append(s.notes, fmt.Sprintf("Nodes of pool %s would come without %s.", p.Name, bad))
		}
		if known.Has(p.Spec.Provider) {
			continue
		}
		known.Insert(p.Spec.Provider)
		live.SetProvider(&v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: p.Spec.Provider}})
		s.notes = append(s.notes, fmt.Sprintf("Provider %s is in no file; it is taken to be ready.", p.Spec.Provider))
	}
}

func (s *savedCluster) takePods(live *capacity.Live, wanted sets.Set[string], now time.Time) {
	for _, p := range s.cluster.Pods {
		live.SetPod(p, now)
	}
	var gated, daemons, others, held int
	for _, p := range s.cluster.Pods {
		pod := live.Pod(p.UID)
		switch {
		case pod.Gated && pod.Node == "":
			gated++
		case !pod.Pending():
		case pod.Daemon():
			daemons++
		case !wanted.Has(p.Spec.SchedulerName):
			others++
		case !live.Want(p.UID, now):
			held++
		}
	}
	s.noteCount(gated, "held back by scheduling gates")
	s.noteCount(daemons, "of DaemonSets, which wait for one certain node")
	s.noteCount(others, "of other schedulers")
	s.noteCount(held, "that hold room on the node they are nominated for")
}

func (s *savedCluster) noteCount(n int, what string) {
	if n > 0 {
		s.notes = append(s.notes, fmt.Sprintf("Not counted: pods %s: %d.", what, n))
	}
}

func (s *savedCluster) noteIgnored() {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(s.cluster.Ignored)) {
		parts = append(parts, fmt.Sprintf("%d %s", s.cluster.Ignored[kind], kind))
	}
	if len(parts) > 0 {
		s.notes = append(s.notes, "Objects that play no part: "+strings.Join(parts, ", ")+".")
	}
}

// workloads names what each pod belongs to: its controller, or itself.
func (s *savedCluster) workloads() map[types.UID]string {
	names := make(map[types.UID]string, len(s.cluster.Pods))
	for _, p := range s.cluster.Pods {
		names[p.UID] = p.Namespace + "/" + workload(p)
	}
	return names
}

// workload is the controller's name, a ReplicaSet's without the hash that a Deployment puts behind its own name; a pod
// without a controller is a workload by itself.
func workload(p *corev1.Pod) string {
	owner := metav1.GetControllerOfNoCopy(p)
	if owner == nil {
		return cmp.Or(strings.TrimSuffix(p.GenerateName, "-"), p.Name)
	}
	if hash := p.Labels["pod-template-hash"]; owner.Kind == "ReplicaSet" && hash != "" {
		return strings.TrimSuffix(owner.Name, "-"+hash)
	}
	return owner.Name
}
