package replay

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// Annotations that say when a workload comes and goes, from the world's zero.
const (
	arrivesAnnotation = "demo.muster.sh/arrives"
	leavesAnnotation  = "demo.muster.sh/leaves"
)

// workloads are the pods of Deployments and Jobs, and the DaemonSets.
type workloads struct {
	daemons  []*appsv1.DaemonSet
	arrivals []Arrival
}

func (w *workloads) add(doc string) error {
	kind, err := kindOf(doc)
	if err != nil {
		return err
	}
	switch kind {
	case "DaemonSet":
		d := new(appsv1.DaemonSet)
		w.daemons = append(w.daemons, d)
		return yaml.UnmarshalStrict([]byte(doc), d)
	case "Deployment":
		d := new(appsv1.Deployment)
		if err := yaml.UnmarshalStrict([]byte(doc), d); err != nil {
			return err
		}
		return w.replicas("ReplicaSet", d.ObjectMeta, d.Spec.Template, int(*d.Spec.Replicas))
	case "Job":
		j := new(batchv1.Job)
		if err := yaml.UnmarshalStrict([]byte(doc), j); err != nil {
			return err
		}
		return w.replicas("Job", j.ObjectMeta, j.Spec.Template, int(*j.Spec.Parallelism))
	}
	return fmt.Errorf("kind %q is not read here", kind)
}

// replicas are the pods of one workload.
func (w *workloads) replicas(owner string, meta metav1.ObjectMeta, template corev1.PodTemplateSpec, count int) error {
	arrives, err := annotated(meta, arrivesAnnotation)
	if err != nil {
		return err
	}
	leaves, err := annotated(meta, leavesAnnotation)
	if err != nil {
		return err
	}
	yes := true
	for n := range count {
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: meta.Namespace, Name: meta.Name + "-" + strconv.Itoa(n), Labels: template.Labels,
				OwnerReferences: []metav1.OwnerReference{{
					Kind: owner, Name: meta.Name, UID: types.UID(owner + "/" + meta.Name), Controller: &yes,
				}},
			},
			Spec: *template.Spec.DeepCopy(),
		}
		w.arrivals = append(w.arrivals, Arrival{At: arrives, Leaves: leaves, Pod: p, Runs: sleeps(p)})
	}
	return nil
}

func annotated(meta metav1.ObjectMeta, name string) (time.Duration, error) {
	text := meta.Annotations[name]
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%s: annotation %s: %w", meta.Name, name, err)
	}
	return d, nil
}

// sleeps is how long a pod runs whose first container does nothing but sleep for some seconds; 0 for any other.
func sleeps(p *corev1.Pod) time.Duration {
	command := p.Spec.Containers[0].Command
	if len(command) != 2 || command[0] != "sleep" {
		return 0
	}
	n, err := strconv.Atoi(command[1])
	if err != nil {
		return 0
	}
	return time.Duration(n) * time.Second
}

// load brings them in the order of their arrival.
func (w *workloads) load() Load {
	slices.SortStableFunc(w.arrivals, func(a, b Arrival) int { return cmp.Compare(a.At, b.At) })
	return &arrivals{w.arrivals}
}

// arrivals is a Load that is in memory.
type arrivals struct{ rest []Arrival }

func (l *arrivals) Next() (Arrival, error) {
	if len(l.rest) == 0 {
		return Arrival{}, io.EOF
	}
	a := l.rest[0]
	l.rest = l.rest[1:]
	return a, nil
}
