package release

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/replay"
)

// days of the generated load.
const days = 3

// dayAndNight is a trace of services that stay for hours and jobs of minutes: four times as many come at noon as at
// midnight.
func dayAndNight(seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a load, not a secret
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	_ = w.Write([]string{"arrival_s", "duration_s", "cpu_milli", "memory_mib", "name"})
	at := 0.0
	for n := 0; ; n++ {
		hour := math.Mod(at/3600, 24)
		rate := 1 + 3*(1-math.Cos(2*math.Pi*hour/24))/2 // 1 at midnight, 4 at noon
		at += rng.ExpFloat64() * 60 / rate
		if at > days*86400 {
			break
		}
		lasts := 600 * math.Exp(rng.NormFloat64()) // a job: median ten minutes
		if rng.IntN(10) == 0 {
			lasts = 3600 * (2 + 10*rng.Float64()) // a service
		}
		cpu := []int{250, 500, 1000, 2000, 4000}[rng.IntN(5)]
		_ = w.Write([]string{
			strconv.FormatFloat(at, 'f', 3, 64), strconv.FormatFloat(lasts, 'f', 3, 64), strconv.Itoa(cpu),
			strconv.Itoa(cpu * (1 + rng.IntN(4))), fmt.Sprintf("p-%d", n),
		})
	}
	w.Flush()
	return out.Bytes()
}

// generalPools has one pool of two sizes.
func generalPools() []*v1alpha1.NodePool {
	return []*v1alpha1.NodePool{pool("general", 200, nil, shape("eight", 8, 32, 0), shape("sixteen", 16, 64, 0))}
}

// eightCores is what is bought of those: pods come a few at a time, and the small machine wastes less.
func eightCores() []*v1alpha1.NodePool {
	return []*v1alpha1.NodePool{pool("general", 200, nil, shape("eight", 8, 32, 0))}
}

// clusterPools has the machines of the production cluster, by their GPU.
func clusterPools() []*v1alpha1.NodePool {
	pools := []*v1alpha1.NodePool{pool("cpu", 300, nil, shape("c32", 32, 256, 0), shape("c64", 64, 512, 0), shape("c96", 96, 512, 0))}
	for _, m := range []struct {
		model  string
		most   int32
		shapes []v1alpha1.Shape
	}{
		{"T4", 400, []v1alpha1.Shape{shape("t4x2", 104, 512, 2), shape("t4x4", 96, 384, 4)}},
		{"G2", 550, []v1alpha1.Shape{shape("g2x8", 96, 384, 8)}},
		{"G3", 40, []v1alpha1.Shape{shape("g3x8", 128, 768, 8)}},
		{"P100", 130, []v1alpha1.Shape{shape("p100x2", 64, 256, 2)}},
		{"V100M16", 60, []v1alpha1.Shape{shape("v16x1", 8, 32, 1), shape("v16x4", 32, 128, 4), shape("v16x8", 64, 256, 8)}},
		{"V100M32", 30, []v1alpha1.Shape{shape("v32x4", 48, 368, 4), shape("v32x8", 96, 768, 8)}},
		{"A10", 5, []v1alpha1.Shape{shape("a10x1", 128, 768, 1)}},
	} {
		name := "gpu-" + map[bool]string{true: "a", false: "b"}[len(m.model) < 4] + fmt.Sprint(len(pools))
		pools = append(pools, pool(name, m.most, map[string]string{replay.GPUModel: m.model}, m.shapes...))
	}
	return pools
}

func pool(name string, most int32, labels map[string]string, shapes ...v1alpha1.Shape) *v1alpha1.NodePool {
	return &v1alpha1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.NodePoolSpec{
			Provider: "sim", Limits: v1alpha1.Limits{MaxNodes: most},
			Template: v1alpha1.NodeTemplate{Shapes: shapes, Labels: labels},
			ScaleUp:  v1alpha1.ScaleUp{RegistrationTimeout: &metav1.Duration{Duration: 10 * time.Minute}, MaxAttempts: 3},
		},
	}
}

func shape(name string, cores, gib, gpus int64) v1alpha1.Shape {
	s := v1alpha1.Shape{Name: name, Resources: corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(cores, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(gib<<30, resource.BinarySI),
	}}
	if gpus > 0 {
		s.Resources[replay.WholeGPU] = *resource.NewQuantity(gpus, resource.DecimalSI)
	}
	return s
}

// provider makes machines that take from 20 s to 2 minutes to join.
func provider() *v1alpha1.Provider {
	at := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	return &v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: "sim"}, Spec: v1alpha1.ProviderSpec{
		Type: v1alpha1.ProviderSim, Sim: &v1alpha1.Sim{Boot: v1alpha1.BootTime{
			Min: at(20 * time.Second), Median: at(45 * time.Second), Max: at(2 * time.Minute),
		}},
	}}
}

// load reads a trace.
func load(file string, r io.Reader, pools []*v1alpha1.NodePool, from time.Duration) (*replay.Trace, error) {
	o := replay.TraceOptions{From: from, GPU: replay.GPUWhole}
	o.Tolerate(pools)
	return replay.NewTrace(file, r, o)
}
