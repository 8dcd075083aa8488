package policy

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// Sizes are the machine sizes of a shape range. There may be millions, so none is listed: a machine is filled at the
// largest size and then shrunk to the smallest that holds what it carries.
type Sizes struct {
	cpu, memory steps
	rest        corev1.ResourceList
}

// SizesOf reads a range.
func SizesOf(r *v1alpha1.ShapeRange) Sizes {
	return Sizes{
		cpu:    steps{r.CPU.Min.MilliValue(), r.CPU.Step.MilliValue(), r.CPU.Max.MilliValue()},
		memory: steps{r.Memory.Min.Value(), r.Memory.Step.Value(), r.Memory.Max.Value()},
		rest:   r.Resources,
	}
}

// Largest is the largest size within so much cpu (milli) and memory (bytes); false when even the smallest is larger.
func (s Sizes) Largest(milliCPU, memory int64) (v1alpha1.Shape, bool) {
	cpu, ok := s.cpu.atMost(milliCPU)
	mem, okMem := s.memory.atMost(memory)
	return s.shape(cpu, mem), ok && okMem
}

// Smallest is the smallest size with so much cpu (milli) and memory (bytes); false when even the largest has less.
func (s Sizes) Smallest(milliCPU, memory int64) (v1alpha1.Shape, bool) {
	cpu, ok := s.cpu.atLeast(milliCPU)
	mem, okMem := s.memory.atLeast(memory)
	return s.shape(cpu, mem), ok && okMem
}

func (s Sizes) shape(milliCPU, memory int64) v1alpha1.Shape {
	list := s.rest.DeepCopy()
	if list == nil {
		list = corev1.ResourceList{}
	}
	list[corev1.ResourceCPU] = *resource.NewMilliQuantity(milliCPU, resource.DecimalSI)
	list[corev1.ResourceMemory] = *resource.NewQuantity(memory, resource.BinarySI)
	return v1alpha1.Shape{Name: sizeName(milliCPU, memory), Resources: list}
}

// sizeName is fit for a label and for people: 8cpu-32gi, 500mcpu-1536mi.
func sizeName(milliCPU, memory int64) string {
	cpu := strconv.FormatInt(milliCPU, 10) + "m"
	if milliCPU%1000 == 0 {
		cpu = strconv.FormatInt(milliCPU/1000, 10)
	}
	for _, unit := range []struct {
		bytes int64
		name  string
	}{{1 << 30, "gi"}, {1 << 20, "mi"}, {1 << 10, "ki"}} {
		if memory%unit.bytes == 0 {
			return fmt.Sprintf("%scpu-%d%s", cpu, memory/unit.bytes, unit.name)
		}
	}
	return fmt.Sprintf("%scpu-%d", cpu, memory)
}

// steps are min, min+step, ... up to max.
type steps struct{ min, step, max int64 }

func (s steps) atMost(v int64) (int64, bool) {
	v = min(v, s.max)
	if v < s.min || s.min <= 0 || s.step <= 0 {
		return s.min, false
	}
	return s.min + (v-s.min)/s.step*s.step, true
}

func (s steps) atLeast(v int64) (int64, bool) {
	largest, ok := s.atMost(s.max)
	if !ok || v > largest {
		return largest, false
	}
	if v <= s.min {
		return s.min, true
	}
	return s.min + ((v-s.min-1)/s.step+1)*s.step, true
}
