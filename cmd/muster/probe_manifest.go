package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider/host/ipmi"
	"github.com/muster-sh/muster/provider/host/redfish"
)

// hostManifest is what a probe cannot read.
type hostManifest struct {
	name, provider, secret, address string
	tls                             *v1alpha1.TLS
}

// reference is the Secret as a Host names it.
func (m hostManifest) reference() (map[string]string, error) {
	namespace, secret, ok := strings.Cut(m.secret, "/")
	if !ok {
		return nil, fmt.Errorf("--credentials %q: use namespace/name", m.secret)
	}
	return map[string]string{"namespace": namespace, "name": secret}, nil
}

// text is a Host for each system, with what the BMC allows as comments.
func (m hostManifest) text(inventory redfish.Inventory) (string, error) {
	secret, err := m.reference()
	if err != nil {
		return "", err
	}
	w := &strings.Builder{}
	for i, s := range inventory.Systems {
		if i > 0 {
			fmt.Fprintln(w, "---")
		}
		fmt.Fprintf(w, "# %s %s, serial number %s, power %s\n", s.Manufacturer, s.Model, s.SerialNumber, s.Power)
		fmt.Fprintf(w, "# resets: %s\n# boot devices: %s\n# MACs: %s\n", list(s.Resets), list(s.Boots), list(s.MACs))
		if len(s.GPUs) > 0 {
			fmt.Fprintf(w, "# GPUs: %s\n", list(s.GPUs))
		}
		fmt.Fprintln(w, "# resources are what is installed; the node may offer less. Set rack, and compare systemUUID with the node's own.")
		power := map[string]any{"interface": "redfish", "address": m.address, "credentials": secret}
		if m.tls != nil {
			power["tls"] = m.tls
		}
		if len(inventory.Systems) > 1 {
			power["system"] = s.ID
		}
		spec := map[string]any{"provider": m.provider, "power": power, "resources": installed(s)}
		if s.UUID != "" {
			spec["systemUUID"] = strings.ToLower(s.UUID)
		}
		if err := m.host(w, m.nameOf(s, i), spec); err != nil {
			return "", err
		}
	}
	return w.String(), nil
}

func (m hostManifest) host(w io.Writer, name string, spec map[string]any) error {
	out, err := yaml.Marshal(map[string]any{"apiVersion": "muster.sh/v1alpha1", "kind": "Host",
		"metadata": map[string]string{"name": name}, "spec": spec})
	if err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	_, err = w.Write(out)
	return err
}

// overIPMI is a Host by what IPMI tells, which is too little: what is missing is for the operator to fill in, and the API
// server asks for it.
func (m hostManifest) overIPMI(i ipmi.Inventory) (string, error) {
	secret, err := m.reference()
	if err != nil {
		return "", err
	}
	w := &strings.Builder{}
	fmt.Fprintf(w, "# BMC of maker %d (IANA), product %d, firmware %s, power %s\n", i.Manufacturer, i.Product, i.Firmware, i.Power)
	fmt.Fprintln(w, "# IPMI does not tell what is installed: fill in resources (cpu, memory, ...). Set rack.")
	fmt.Fprintf(w, "# Fill in systemUUID, as `cat /sys/class/dmi/id/product_uuid` says there. By the BMC it may be, in one of three byte orders:\n# %s\n",
		list(i.UUIDs))
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(cmp.Or(m.name, "host-"+m.address)), "-"), "-")
	err = m.host(w, name, map[string]any{"provider": m.provider, "resources": map[string]string{}, "systemUUID": "",
		"power": map[string]any{"interface": "ipmi", "address": m.address, "credentials": secret}})
	return w.String(), err
}

var notInNames = regexp.MustCompile(`[^a-z0-9-]+`)

func (m hostManifest) nameOf(s redfish.System, i int) string {
	name := m.name
	switch {
	case name != "" && i > 0:
		name = fmt.Sprintf("%s-%d", name, i)
	case name == "":
		name = "host-" + s.SerialNumber + s.ID
		if s.SerialNumber != "" {
			name = "host-" + s.SerialNumber
		}
	}
	return strings.Trim(notInNames.ReplaceAllString(strings.ToLower(name), "-"), "-")
}

// installed are the resources by what the BMC counts; a GPU counts for the resource of its maker's device plugin.
func installed(s redfish.System) map[string]string {
	out := map[string]string{}
	if s.CPUs > 0 {
		out[string(corev1.ResourceCPU)] = fmt.Sprint(s.CPUs)
	}
	if s.MemoryGiB > 0 {
		out[string(corev1.ResourceMemory)] = resource.NewQuantity(int64(math.Floor(s.MemoryGiB*1024))<<20, resource.BinarySI).String()
	}
	for _, gpu := range s.GPUs {
		for maker, name := range map[string]string{"nvidia": "nvidia.com/gpu", "amd": "amd.com/gpu", "advanced micro": "amd.com/gpu", "intel": "gpu.intel.com/i915"} {
			if strings.HasPrefix(strings.ToLower(gpu), maker) {
				n := resource.MustParse("0" + out[name])
				out[name] = fmt.Sprint(n.Value() + 1)
			}
		}
	}
	return out
}

func list(words []string) string {
	if len(words) == 0 {
		return "not told"
	}
	return strings.Join(words, " ")
}
