package replay

import (
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/capacity"
)

// The columns of a file of nodes. The first three must be there.
var nodeColumns = []string{"name", "cpu_milli", "memory_mib", "gpu_count", "gpu_model"}

const nodesRequired = 3

// ReadNodes reads nodes that exist already from a CSV file. They are ready, and take as many pods as a kubelet does by
// default.
func ReadNodes(file string, r io.Reader, gpu GPU) ([]*corev1.Node, error) {
	plain, err := unzip(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	c := newCSV(plain)
	columns, err := header(file, c, nodeColumns, nodesRequired)
	if err != nil {
		return nil, err
	}
	var nodes []*corev1.Node
	seen := map[string]bool{}
	for {
		values, err := c.Read()
		if errors.Is(err, io.EOF) {
			return nodes, nil
		}
		if err != nil {
			return nil, csvError(file, err)
		}
		line, _ := c.FieldPos(0)
		if len(values) != len(columns) {
			return nil, &RowError{File: file, Line: line,
				Want: fmt.Sprintf("%d values, the header names %d columns", len(values), len(columns))}
		}
		row := newRow(file, line, columns, values)
		n := nodeOf(row, gpu)
		if seen[n.Name] {
			row.bad("name", "each name once")
		}
		seen[n.Name] = true
		if row.err != nil {
			return nil, row.err
		}
		nodes = append(nodes, n)
	}
}

func nodeOf(r *row, gpu GPU) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: r.name("name", fmt.Sprintf("node-%d", r.line))}}
	n.Labels = map[string]string{
		corev1.LabelHostname: n.Name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
	}
	n.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(r.count("cpu_milli", mostMilliCPU), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(r.count("memory_mib", mostMiB)<<20, resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(capacity.DefaultPods, resource.DecimalSI),
	}
	if count := r.count("gpu_count", mostGPUs); count > 0 && gpu == GPUMilli {
		n.Status.Allocatable[MilliGPU] = *resource.NewQuantity(count*wholeMillis, resource.DecimalSI)
	} else if count > 0 {
		n.Status.Allocatable[WholeGPU] = *resource.NewQuantity(count, resource.DecimalSI)
	}
	if models := r.words("gpu_model"); len(models) > 0 {
		n.Labels[GPUModel] = models[0]
	}
	n.Status.Capacity = n.Status.Allocatable
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}}
	return n
}
