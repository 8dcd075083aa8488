package extender_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	"k8s.io/utils/ptr"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/extender"
)

const podsPerNode = 10

// largeWorld has nodes of 16 CPUs, each with ten pods of 1 to 1.9 CPUs from a hundred ReplicaSets. The pods of three
// DaemonSets run on nine of ten nodes, and room is set aside for them on the tenth; one node in five was ordered for two
// pods that are on their way.
func largeWorld(nodes int) (*capacity.Live, []string) {
	live := capacity.NewLive(capacity.Schedulers{Place: sets.New("muster")})
	names := make([]string, nodes)
	for i := range names {
		names[i] = fmt.Sprintf("worker-%04d.rack-%02d.example.internal", i, i%40)
		n := machine(names[i], "16", "64Gi")
		n.Labels["topology.kubernetes.io/zone"] = fmt.Sprintf("zone-%d", i%3)
		n.Status.Allocatable["hugepages-1Gi"], n.Status.Allocatable["hugepages-2Mi"] = resource.Quantity{}, resource.Quantity{}
		live.SetNode(n, noon)
	}
	for i := range nodes * podsPerNode {
		p := replica(fmt.Sprintf("bound-%d", i), i%100, fmt.Sprintf("%dm", 1000+100*(i%10)))
		p.Spec.NodeName = names[i%nodes]
		live.SetPod(p, noon)
	}
	runDaemons(live, names)
	for i := 0; i < nodes; i += 5 {
		reserve(live, names[i], i)
	}
	return live, names
}

func runDaemons(live *capacity.Live, names []string) {
	for _, name := range []string{"cni", "storage", "logs"} {
		template := replica(name, 0, "20m")
		set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, UID: types.UID("set-" + name)}}
		set.Spec.Template.Spec = template.Spec
		live.SetDaemonSet(set)
		for i, node := range names {
			if i%10 == 0 {
				continue
			}
			p := replica(fmt.Sprintf("%s-%d", name, i), 0, "20m")
			p.OwnerReferences[0].Kind, p.OwnerReferences[0].Name, p.OwnerReferences[0].UID = "DaemonSet", name, set.UID
			p.Spec.NodeName = node
			live.SetPod(p, noon)
		}
	}
}

// reserve keeps room on a node for two pods that its machine was ordered for.
func reserve(live *capacity.Live, node string, i int) {
	claim := &v1alpha1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pool-%03d", i), UID: types.UID(fmt.Sprintf("claim-%d", i))}}
	claim.Spec.Pool, claim.Status.State, claim.Status.NodeName = "pool", v1alpha1.ClaimReady, node
	for n := range 2 {
		p := replica(fmt.Sprintf("awaited-%d-%d", i, n), 50, "200m")
		live.SetPod(p, noon)
		claim.Spec.Reserved = append(claim.Spec.Reserved, v1alpha1.PodReference{Namespace: p.Namespace, Name: p.Name, UID: p.UID})
	}
	live.SetClaim(claim)
}

// replica is a pod as a Deployment makes it and the API server completes it.
func replica(name string, set int, cpu string) *corev1.Pod {
	p := workload(name, cpu, "2Gi")
	p.Generation, p.ResourceVersion, p.CreationTimestamp = 1, "123456", metav1.NewTime(noon)
	p.Labels = map[string]string{"app.kubernetes.io/name": "web", "pod-template-hash": "6c4b8d7f9"}
	p.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "ReplicaSet", Name: fmt.Sprintf("web-%d", set), UID: types.UID(fmt.Sprintf("set-%d", set)),
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}}
	side := *p.Spec.Containers[0].DeepCopy()
	side.Name, side.Resources.Requests[corev1.ResourceCPU] = "proxy", resource.MustParse("10m")
	p.Spec.Containers = append(p.Spec.Containers, side)
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		c.TerminationMessagePath, c.ImagePullPolicy = "/dev/termination-log", corev1.PullIfNotPresent
		c.VolumeMounts = []corev1.VolumeMount{{
			Name: "kube-api-access", ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount",
		}}
		for n := range 8 {
			c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", n), Value: "a value of some length"})
		}
	}
	p.Spec.Volumes = []corev1.Volume{{Name: "kube-api-access", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{
			Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](300),
		})
	}
	return p
}

// caller sends what kube-scheduler sends and reads what it reads, over one kept connection.
type caller struct {
	client *http.Client
	url    string
	took   []time.Duration
	spent  time.Duration // CPU time of the process when the first call began
}

func (c *caller) filter(b *testing.B, args extenderv1.ExtenderArgs) extenderv1.ExtenderFilterResult {
	start := time.Now()
	body, err := json.Marshal(args)
	require.NoError(b, err)
	response, err := c.client.Post(c.url, "application/json", bytes.NewReader(body))
	require.NoError(b, err)
	var result extenderv1.ExtenderFilterResult
	require.NoError(b, json.NewDecoder(response.Body).Decode(&result))
	require.NoError(b, response.Body.Close())
	c.took = append(c.took, time.Since(start))
	require.Equal(b, http.StatusOK, response.StatusCode)
	return result
}

// report adds the latencies and the rate to a benchmark's line.
func (c *caller) report(b *testing.B) {
	slices.Sort(c.took)
	b.ReportMetric(float64(c.took[len(c.took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(c.took[len(c.took)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
	b.ReportMetric(float64((cpuTime(b)-c.spent).Microseconds())/float64(len(c.took)), "cpu-µs/call")
}

// BenchmarkFilter calls /place/filter over HTTP on loopback, client included.
func BenchmarkFilter(b *testing.B) {
	for _, nodes := range []int{1000, 5000} {
		before := heapInUse()
		live, names := largeWorld(nodes)
		view := heapInUse() - before
		require.Equal(b, nodes/5*2, live.Reserving())
		server := httptest.NewServer(extender.New(config(live)))
		for _, c := range []struct{ name, cpu string }{{"fits", "500m"}, {"fits-nowhere", "15"}} {
			b.Run(fmt.Sprintf("nodes=%d/%s", nodes, c.name), func(b *testing.B) {
				caller := &caller{client: &http.Client{}, url: server.URL + "/place/filter", spent: cpuTime(b)}
				defer caller.client.CloseIdleConnections()
				for i := 0; b.Loop(); i++ {
					pod := replica(fmt.Sprintf("%s-%d", c.name, i), 7, c.cpu)
					result := caller.filter(b, named(pod, names...))
					require.Equal(b, c.name == "fits", len(*result.NodeNames) == 1)
					live.ForgetPod(pod.UID)
				}
				caller.report(b)
				b.ReportMetric(float64(view)/(1<<20), "view-MiB")
				b.ReportMetric(residentMiB(b), "rss-MiB")
			})
		}
		server.Close()
	}
}

// BenchmarkObserved is what it costs the filter that somebody records.
func BenchmarkObserved(b *testing.B) {
	for _, who := range []string{"nobody", "somebody"} {
		live, names := largeWorld(1000)
		cfg, pods := config(live), 0
		var last extender.Observation
		if who == "somebody" {
			cfg.Observe = func(o extender.Observation) { last = o }
		}
		server := httptest.NewServer(extender.New(cfg))
		for _, c := range []struct{ name, cpu string }{{"fits", "500m"}, {"fits-nowhere", "15"}} {
			b.Run(fmt.Sprintf("%s/%s", c.name, who), func(b *testing.B) {
				caller := &caller{client: &http.Client{}, url: server.URL + "/place/filter", spent: cpuTime(b)}
				defer caller.client.CloseIdleConnections()
				for b.Loop() {
					pods++ // a pod that was forgotten does not come again
					pod := replica(fmt.Sprintf("pod-%d", pods), 7, c.cpu)
					caller.filter(b, named(pod, names...))
					live.ForgetPod(pod.UID)
				}
				caller.report(b)
			})
		}
		server.Close()
		require.Equal(b, who == "somebody", last.Offered == len(names))
	}
}

func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// cpuTime is what the process used so far: unlike a latency it can be trusted on a busy machine.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// residentMiB is the process's own resident set, the benchmark's client included.
func residentMiB(b *testing.B) float64 {
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(b, err)
	_, rest, found := strings.Cut(string(status), "VmRSS:")
	require.True(b, found)
	kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	require.NoError(b, err)
	return kib / 1024
}
