package replay

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/manifest"
)

// MaxShaped is the most pods that a shape may make.
const MaxShaped = 5_000_000

// Shaped is a Load of manifests whose pods come and go as a shape says. Every workload draws from a stream of chance of its
// own, so that one more changes nothing about the others. Deployments, ReplicaSets and StatefulSets that get fewer replicas
// lose the youngest; at the shape's end everything goes.
type Shaped struct {
	length time.Duration
	stays  []stay
	next   int
}

// stay is one pod: when it comes, and when it leaves or how long it runs.
type stay struct {
	at, leaves, runs time.Duration
	of               *manifest.Workload
	number           int // of the pod; of the run of a Job
	part             int // of a Job's run
}

// NewShaped works out when which pod comes.
func NewShaped(load *manifest.Load, shape *manifest.Shape, seed int64) (*Shaped, error) {
	s := &Shaped{length: shape.Spec.Length.Duration}
	for _, w := range load.Workloads {
		told := manifest.WorkloadShape{Workload: w}
		if i := slices.IndexFunc(shape.Spec.Workloads, func(t manifest.WorkloadShape) bool { return t.Workload == w }); i >= 0 {
			told = shape.Spec.Workloads[i]
		}
		one := shaping{
			told: told, length: s.length, left: MaxShaped - len(s.stays),
			chance: rand.New(rand.NewPCG(uint64(seed), streamOf(w))), //nolint:gosec // a seed, and no secret
		}
		if w.Lasting() {
			one.lasting()
		} else {
			one.job()
		}
		if one.left < 0 {
			return nil, fmt.Errorf("the shape makes more than %d pods: make length shorter, or fewer pods", MaxShaped)
		}
		s.stays = append(s.stays, one.stays...)
	}
	slices.SortStableFunc(s.stays, func(a, b stay) int { return cmp.Compare(a.at, b.at) })
	return s, nil
}

func streamOf(w *manifest.Workload) uint64 {
	h := fnv.New64a()
	io.WriteString(h, w.String()) //nolint:errcheck // a hash takes everything
	return h.Sum64()
}

// Len is how many pods there are in all.
func (s *Shaped) Len() int { return len(s.stays) }

// Next is the next pod that somebody makes.
func (s *Shaped) Next() (Arrival, error) {
	if s.next == len(s.stays) {
		return Arrival{}, io.EOF
	}
	t := &s.stays[s.next]
	s.next++
	return Arrival{At: t.at, Runs: t.runs, Leaves: t.leaves, Pod: t.pod()}, nil
}

func (t *stay) pod() *corev1.Pod {
	yes := true
	w := t.of
	name, owner := w.Name+"-"+strconv.Itoa(t.number), w.Name
	kind := map[string]string{"Deployment": "ReplicaSet"}[w.Kind]
	if kind == "" {
		kind = w.Kind
	}
	if !w.Lasting() {
		owner = name
		name += "-" + strconv.Itoa(t.part)
	}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Namespace, Name: name, Labels: w.Template.Labels, Annotations: w.Template.Annotations,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: kind, Name: owner, UID: types.UID(kind + "/" + w.Namespace + "/" + owner), Controller: &yes,
			}},
		},
		Spec: w.Template.Spec,
	}
	p.Spec.SchedulerName = Scheduler
	return p
}
