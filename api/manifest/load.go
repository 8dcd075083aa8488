package manifest

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Load is a set of manifests whose pods come and go as a Shape says: what a cluster file may hold, and workloads.
type Load struct {
	Cluster
	// Workloads in the order of the files.
	Workloads []*Workload
	// Skipped are the mistakes of objects that were left out, where the reader is lenient.
	Skipped Errors
}

// Workload is an object that makes pods.
type Workload struct {
	Kind      string // Deployment, ReplicaSet, StatefulSet or Job
	Namespace string
	Name      string
	// Replicas is how many pods it has; of a Job, how many run side by side.
	Replicas int
	Template corev1.PodTemplateSpec
	// File and Line are where it stands.
	File string
	Line int
}

// Lasting says whether the workload keeps its pods until there are to be fewer; the pods of others run and finish.
func (w *Workload) Lasting() bool { return w.Kind != "Job" }

// String is kind and namespace/name.
func (w *Workload) String() string { return w.Kind + " " + w.Namespace + "/" + w.Name }

// MaxReplicas is the most pods that one workload may have.
const MaxReplicas = 100_000

// workloadKinds are the kinds that make pods, with their API versions.
var workloadKinds = map[string]struct {
	version string
	add     func(*Load, object) Errors
}{
	"Deployment.apps": {"apps/v1", func(l *Load, o object) Errors {
		return addWorkload(l, o, func(d *appsv1.Deployment) replicated { return replicated{d, d.Spec.Replicas, &d.Spec.Template} })
	}},
	"ReplicaSet.apps": {"apps/v1", func(l *Load, o object) Errors {
		return addWorkload(l, o, func(r *appsv1.ReplicaSet) replicated { return replicated{r, r.Spec.Replicas, &r.Spec.Template} })
	}},
	"StatefulSet.apps": {"apps/v1", func(l *Load, o object) Errors {
		return addWorkload(l, o, func(s *appsv1.StatefulSet) replicated { return replicated{s, s.Spec.Replicas, &s.Spec.Template} })
	}},
	"Job.batch": {"batch/v1", func(l *Load, o object) Errors {
		return addWorkload(l, o, func(j *batchv1.Job) replicated { return replicated{j, j.Spec.Parallelism, &j.Spec.Template} })
	}},
}

// ReadLoad reads manifests from the files at paths; "-" is standard input. Kinds that make no difference are counted in
// Ignored. The error is of type Errors where the content is at fault; a lenient reader leaves such objects out, and fails only
// where nothing can be told apart in a file.
func ReadLoad(lenient bool, paths ...string) (*Load, error) {
	sources, err := open(paths, MaxClusterBytes)
	if err != nil {
		return nil, err
	}
	return readLoad(lenient, sources)
}

func readLoad(lenient bool, sources []source) (*Load, error) {
	out := &Load{Cluster: Cluster{Ignored: map[string]int{}}}
	var errs Errors
	names := places{}
	for _, s := range sources {
		objects, problems := s.objects()
		errs = append(errs, problems...)
		for _, o := range objects {
			problems := out.addTo(o, names)
			errs = append(errs, problems...)
		}
	}
	err := errs.orNil(sources)
	switch {
	case err == nil:
	case lenient && out.pods()+len(out.Nodes) > 0:
		out.Skipped = errs
	default:
		return nil, err
	}
	out.defaultClass()
	return out, nil
}

func (l *Load) pods() int { return len(l.Workloads) + len(l.Pods) }

// addTo takes an object in if there is nothing wrong with it.
func (l *Load) addTo(o object, names places) Errors {
	trial := &Load{Cluster: Cluster{Ignored: l.Ignored}}
	if errs := trial.read(o, names); len(errs) > 0 {
		return errs
	}
	l.Workloads = append(l.Workloads, trial.Workloads...)
	l.Nodes, l.Pods = append(l.Nodes, trial.Nodes...), append(l.Pods, trial.Pods...)
	l.DaemonSets, l.Namespaces = append(l.DaemonSets, trial.DaemonSets...), append(l.Namespaces, trial.Namespaces...)
	l.DeviceClasses, l.Storage = append(l.DeviceClasses, trial.DeviceClasses...), append(l.Storage, trial.Storage...)
	l.Budgets = append(l.Budgets, trial.Budgets...)
	return nil
}

func (l *Load) read(o object, names places) Errors {
	k, makes := workloadKinds[o.groupKind()]
	if !makes {
		return l.add(o, names)
	}
	if err, wrong := wrongVersion(o, k.version); wrong {
		return Errors{err}
	}
	if o.namespace == "" {
		o.namespace = metav1.NamespaceDefault
	}
	return append(k.add(l, o), names.add(o)...)
}

// replicated is what workloads have in common.
type replicated struct {
	meta     metav1.Object
	replicas *int32
	template *corev1.PodTemplateSpec
}

func addWorkload[T any](l *Load, o object, look func(*T) replicated) Errors {
	decoded, errs := decode[T](o)
	if len(errs) > 0 {
		return errs
	}
	r := look(decoded)
	defaultMeta(o, r.meta)
	pod := &corev1.Pod{ObjectMeta: r.template.ObjectMeta, Spec: r.template.Spec}
	defaultPod(pod)
	w := &Workload{
		Kind: o.kind, Namespace: o.namespace, Name: o.name, Replicas: 1, File: o.file, Line: o.place.line(""),
		Template: corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec},
	}
	count := "spec.replicas"
	if !w.Lasting() {
		count = "spec.parallelism"
	}
	if r.replicas != nil {
		w.Replicas = int(*r.replicas)
	}
	if w.Replicas < 0 || w.Replicas > MaxReplicas {
		errs = append(errs, o.problem(count, "Invalid value: %d: use a whole number from 0 to %d", w.Replicas, MaxReplicas))
	}
	if len(pod.Spec.Containers) == 0 {
		errs = append(errs, o.problem("spec.template.spec.containers", "Required value: a list with at least one container"))
	}
	errs = append(errs, checkMeta(o, r.meta, true, validation.NameIsDNSSubdomain)...)
	errs = append(errs, checkPod(o, &pod.Spec, "spec.template.spec")...)
	l.Workloads = append(l.Workloads, w)
	return errs
}

// find is the workload of this kind and name; nil when there is none.
func (l *Load) find(kind, namespace, name string) *Workload {
	for _, w := range l.Workloads {
		if w.Kind == kind && w.Namespace == namespace && w.Name == name {
			return w
		}
	}
	return nil
}

// named are the workloads, for people, at most a handful.
func (l *Load) named() string {
	const most = 8
	text := ""
	for i, w := range l.Workloads {
		if i == most {
			return text + fmt.Sprintf(" and %d more", len(l.Workloads)-most)
		}
		if i > 0 {
			text += ", "
		}
		text += w.String()
	}
	if text == "" {
		return "none"
	}
	return text
}
