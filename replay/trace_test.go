package replay

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/amount"
)

const traceHead = "arrival_s,wait_s,duration_s,end_s,cpu_milli,memory_mib,gpu_count,gpu_milli,gpu_model,qos,name,group,state," +
	"node_selector,max_per_node,exclusive,disk_mib,nic_pct\n"

func readAll(t *testing.T, text string, o TraceOptions) ([]Arrival, *Trace, error) {
	t.Helper()
	tr, err := NewTrace("pods.csv", strings.NewReader(text), o)
	if err != nil {
		return nil, nil, err
	}
	var all []Arrival
	for {
		a, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return all, tr, nil
		}
		if err != nil {
			return all, tr, err
		}
		all = append(all, a)
	}
}

func TestRowsBecomePods(t *testing.T) {
	text := traceHead +
		"10,1,60,71,1500,2048,2,1000,T4|P100,LS,web-1,web,Running,zone=a;ssd,1,,512,30\n" +
		"11,,,95,250,64,0,0,,BE,,,Pending,,,,,\n" +
		"12.5,0,0,12,1,0,1,460,,BE,b,,Failed,,0,,,\n"
	all, tr, err := readAll(t, text, TraceOptions{})
	require.NoError(t, err)
	require.Len(t, all, 3)

	web := all[0]
	require.Equal(t, 10*time.Second, web.At)
	require.Equal(t, time.Minute, web.Runs)
	require.Zero(t, web.Leaves, "it ends by itself, whenever it was placed")
	require.Equal(t, "web-1", web.Pod.Name)
	require.Equal(t, Scheduler, web.Pod.Spec.SchedulerName)
	require.Equal(t, map[string]string{"zone": "a", "ssd": "true"}, web.Pod.Spec.NodeSelector)
	ask := capacity.NewAsk(web.Pod).Requests
	require.Equal(t, amount.Resources{MilliCPU: 1500, Memory: 2 << 30, EphemeralStorage: 512 << 20, Pods: 1,
		Scalar: map[corev1.ResourceName]int64{WholeGPU: 2}}, ask)
	terms := web.Pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	require.Equal(t, []string{"P100", "T4"}, terms[0].MatchExpressions[0].Values)
	require.Equal(t, "ReplicaSet", web.Pod.OwnerReferences[0].Kind)

	require.Equal(t, "pod-3", all[1].Pod.Name, "named after its line")
	require.Zero(t, all[1].Runs)
	require.Equal(t, 95*time.Second, all[1].Leaves, "never scheduled: its owner gave up")
	require.Equal(t, map[string]int{"max_per_node": 1, "nic_pct": 1}, tr.Ignored)

	all, _, err = readAll(t, text, TraceOptions{GPU: GPUMilli, From: 11 * time.Second, Until: 12600 * time.Millisecond})
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, int64(460), capacity.NewAsk(all[1].Pod).Requests.Scalar[MilliGPU])
}

func TestBadRowsAreNamed(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":              {"", "pods.csv:1: empty, it must begin with the columns' names"},
		"unknown column":     {"arrival_s,cpu\n", `pods.csv:1: column "cpu": use each once of arrival_s, `},
		"column given twice": {"name,name\n", `pods.csv:1: column "name": use each once of`},
		"missing column":     {"arrival_s,name,cpu_milli\n", "pods.csv:1: column memory_mib is missing"},
		"no number":          {"arrival_s,name,cpu_milli,memory_mib\n1,a,lots,1\n", `pods.csv:2: cpu_milli "lots": use a whole number from 0 to`},
		"negative":           {"arrival_s,name,cpu_milli,memory_mib\n1,a,1,-5\n", `pods.csv:2: memory_mib "-5": use a whole number`},
		"overflowing":        {"arrival_s,name,cpu_milli,memory_mib\n1,a,1,99999999999999999999\n", `pods.csv:2: memory_mib "99999999999999999999"`},
		"no time":            {"arrival_s,name,cpu_milli,memory_mib\nNaN,a,1,1\n", `pods.csv:2: arrival_s "NaN": use seconds from 0`},
		"no arrival":         {"arrival_s,name,cpu_milli,memory_mib\n,a,1,1\n", `pods.csv:2: arrival_s "": use seconds; every row`},
		"out of order":       {"arrival_s,name,cpu_milli,memory_mib\n5,a,1,1\n4,b,1,1\n", `pods.csv:3: arrival_s "4": use a time that is not before`},
		"too few values":     {"arrival_s,name,cpu_milli,memory_mib\n5,a,1\n", "pods.csv:2: 3 values, the header names 4 columns"},
		"bad name":           {"arrival_s,name,cpu_milli,memory_mib\n5,A_b,1,1\n", `pods.csv:2: name "A_b": use at most 200 lower-case`},
		"bad selector":       {traceHead + "1,,,,1,1,,,,,a,,,a=b=c,,,,\n", `pods.csv:2: node_selector "a=b=c": use labels`},
		"ends too early":     {traceHead + "5,,,4,1,1,,,,,a,,,,,,,\n", `pods.csv:2: end_s "4": use a time that is not before arrival_s`},
		"broken quotes":      {"arrival_s,name,cpu_milli,memory_mib\n5,\"a,1,1\n", "no CSV"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := readAll(t, c.text, TraceOptions{})
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestLenientSkipsAndCounts(t *testing.T) {
	all, tr, err := readAll(t, "arrival_s,name,cpu_milli,memory_mib\n5,a,1,1\n4,b,1,1\nx,c,1,1\n6,d,1\n7,e,1,1\n", TraceOptions{Lenient: true})
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, 3, tr.Skipped)
	_, err = NewTrace("pods.csv", strings.NewReader("nonsense\n"), TraceOptions{Lenient: true})
	require.Error(t, err, "a header is needed in any case")
}

func TestGzip(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte("arrival_s,name,cpu_milli,memory_mib\n5,a,1,1\n"))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	all, _, err := readAll(t, b.String(), TraceOptions{})
	require.NoError(t, err)
	require.Len(t, all, 1)
	_, _, err = readAll(t, b.String()[:b.Len()-4], TraceOptions{Lenient: true})
	require.Error(t, err, "a file that was cut off is not a short trace")
}

func TestPodsTolerateWhatPoolsAreTaintedWith(t *testing.T) {
	gpu := poolOf("gpu", 1, v1alpha1.Shape{Name: "g", Resources: corev1.ResourceList{WholeGPU: *oneQuantity}})
	gpu.Spec.Template.Taints = []corev1.Taint{
		{Key: string(WholeGPU), Effect: corev1.TaintEffectNoSchedule}, {Key: "example.org/team", Effect: corev1.TaintEffectNoSchedule},
	}
	var o TraceOptions
	o.Tolerate([]*v1alpha1.NodePool{gpu, gpu})
	all, _, err := readAll(t, "arrival_s,name,cpu_milli,memory_mib,gpu_count\n5,a,1,1,0\n5,b,1,1,1\n", o)
	require.NoError(t, err)
	team := corev1.Toleration{Key: "example.org/team", Operator: corev1.TolerationOpExists}
	device := corev1.Toleration{Key: string(WholeGPU), Operator: corev1.TolerationOpExists}
	require.Equal(t, []corev1.Toleration{team}, all[0].Pod.Spec.Tolerations)
	require.Equal(t, []corev1.Toleration{team, device}, all[1].Pod.Spec.Tolerations)
}

func TestReadNodes(t *testing.T) {
	text := "name,cpu_milli,memory_mib,gpu_count,gpu_model\nn-0,32000,1024,2,T4\nn-1,1000,1,0,\n"
	nodes, err := ReadNodes("nodes.csv", strings.NewReader(text), GPUWhole)
	require.NoError(t, err)
	require.Len(t, nodes, 2)
	require.Equal(t, "T4", nodes[0].Labels[GPUModel])
	require.True(t, nodeReady(nodes[0]))
	require.Equal(t, amount.Resources{MilliCPU: 32000, Memory: 1 << 30, Pods: 110, Scalar: map[corev1.ResourceName]int64{WholeGPU: 2}},
		amount.Of(nodes[0].Status.Allocatable))
	nodes, err = ReadNodes("nodes.csv", strings.NewReader(text), GPUMilli)
	require.NoError(t, err)
	require.Equal(t, int64(2000), amount.Of(nodes[0].Status.Allocatable).Scalar[MilliGPU])

	_, err = ReadNodes("nodes.csv", strings.NewReader("name,cpu_milli,memory_mib\nn,1,1\nn,1,1\n"), GPUWhole)
	require.ErrorContains(t, err, `nodes.csv:3: name "n": use each name once`)
	_, err = ReadNodes("nodes.csv", strings.NewReader("name,cpu_milli,memory_mib\nn,1,1,1\n"), GPUWhole)
	require.ErrorContains(t, err, "nodes.csv:2: 4 values, the header names 3 columns")
}
