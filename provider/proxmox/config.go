package proxmox

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	pve "github.com/luthermonson/go-proxmox"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
)

// vmConfig is what of a VM's configuration is read. Values that Proxmox VE gives as numbers or strings are read as text.
type vmConfig struct {
	Description string
	Digest      string
	Tags        string
	Lock        string
	Template    bool
	SMBIOS      string
	// all are the values by name.
	all map[string]string
}

// UnmarshalJSON reads an object of texts, numbers and flags.
func (c *vmConfig) UnmarshalJSON(b []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	c.all = make(map[string]string, len(raw))
	for name, value := range raw {
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		c.all[name] = text
	}
	c.Description, c.Digest, c.Tags, c.Lock = c.all["description"], c.all["digest"], c.all["tags"], c.all["lock"]
	c.SMBIOS, c.Template = c.all["smbios1"], c.all["template"] == "1" || c.all["template"] == "true"
	return nil
}

func (c *vmConfig) smbiosUUID() string {
	for _, part := range strings.Split(c.SMBIOS, ",") {
		if uuid, ok := strings.CutPrefix(part, "uuid="); ok {
			return uuid
		}
	}
	return ""
}

// withUUID keeps what else the template says of its SMBIOS.
func (c *vmConfig) withUUID(uuid string) string {
	parts := []string{"uuid=" + uuid}
	for _, part := range strings.Split(c.SMBIOS, ",") {
		if part != "" && !strings.HasPrefix(part, "uuid=") {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ",")
}

// bootDisk is the first disk and its storage.
func (c *vmConfig) bootDisk() (device, storage string) {
	for _, bus := range []string{"scsi", "virtio", "sata", "ide"} {
		for n := range 31 {
			device = bus + strconv.Itoa(n)
			value, ok := c.all[device]
			if !ok || strings.Contains(value, "media=cdrom") || strings.Contains(value, "cloudinit") {
				continue
			}
			storage, _, _ = strings.Cut(value, ":")
			return device, storage
		}
	}
	return "", ""
}

// diskSize is the size of a device in bytes; 0 when it does not say.
func (c *vmConfig) diskSize(device string) int64 {
	for _, part := range strings.Split(c.all[device], ",") {
		text, ok := strings.CutPrefix(part, "size=")
		if !ok || text == "" {
			continue
		}
		shift := map[byte]uint{'K': 10, 'M': 20, 'G': 30, 'T': 40}[text[len(text)-1]]
		n, err := strconv.ParseInt(strings.TrimRight(text, "KMGT"), 10, 64)
		if err != nil {
			return 0
		}
		return n << shift
	}
	return 0
}

const mebi = 1 << 20

// cores and megabytes of a request; both are rounded up.
func sizeOf(r provider.Request) (cores, megabytes int64, err error) {
	cpu, memory := r.Resources[corev1.ResourceCPU], r.Resources[corev1.ResourceMemory]
	cores, megabytes = (cpu.MilliValue()+999)/1000, (memory.Value()+mebi-1)/mebi
	if cores < 1 || megabytes < 16 {
		return 0, 0, &provider.Error{Op: "size machine for " + r.Claim, Kind: provider.ErrRefused,
			Err: fmt.Errorf("cpu %s, memory %s", cpu.String(), memory.String()), Hint: "a VM has at least 1 core and 16Mi"}
	}
	return cores, megabytes, nil
}

// settings are what a machine's configuration becomes after the clone: all of it in one write, before the first start.
func settings(spec *v1alpha1.Proxmox, m mark, vmid int, r provider.Request, c *vmConfig) (map[string]any, error) {
	cores, megabytes, err := sizeOf(r)
	if err != nil {
		return nil, err
	}
	s := map[string]any{
		"name": m.name(), "cores": cores, "sockets": 1, "memory": strconv.FormatInt(megabytes, 10),
		"description": m.note(spec.Description), "tags": marks(c, spec.Tags, tagOf(m.UID)),
		"smbios1": c.withUUID(uuidOf(m.UID, m.Attempt)),
	}
	if c.Digest != "" {
		s["digest"] = c.Digest // refused if somebody else has changed it since we looked
	}
	if spec.CPUType != "" {
		s["cpu"] = spec.CPUType
	}
	for i, n := range spec.Networks {
		s["net"+strconv.Itoa(i)] = network(n, vmid, i)
	}
	cloudInit(spec.CloudInit, s)
	for name, value := range spec.VMOptions {
		s[name] = value
	}
	return s, nil
}

func network(n v1alpha1.ProxmoxNetwork, vmid, index int) string {
	model := n.Model
	if model == "" {
		model = "virtio"
	}
	if n.MACPrefix != "" {
		h := uint32(vmid)*8 + uint32(index) //nolint:gosec // 24 bits of it are used
		model += fmt.Sprintf("=%s:%02X:%02X:%02X", strings.ToUpper(n.MACPrefix), byte(h>>16), byte(h>>8), byte(h))
	}
	parts := []string{model, "bridge=" + n.Bridge}
	if n.VLAN > 0 {
		parts = append(parts, fmt.Sprintf("tag=%d", n.VLAN))
	}
	if n.Firewall {
		parts = append(parts, "firewall=1")
	}
	return strings.Join(parts, ",")
}

func cloudInit(ci *v1alpha1.ProxmoxCloudInit, s map[string]any) {
	if ci == nil {
		return
	}
	for name, value := range map[string]string{"ciuser": ci.User, "nameserver": ci.Nameserver, "searchdomain": ci.SearchDomain} {
		if value != "" {
			s[name] = value
		}
	}
	if len(ci.SSHKeys) > 0 {
		s["sshkeys"] = pve.EncodeSSHKeys(ci.SSHKeys...)
	}
	for i, ip := range ci.IPConfig {
		s["ipconfig"+strconv.Itoa(i)] = ip
	}
}

// optionNames are settings of a VM that vmOptions may name; those with a number at their end are named without it.
// https://pve.proxmox.com/pve-docs/api-viewer/ (PUT /nodes/{node}/qemu/{vmid}/config)
var optionNames = []string{"acpi", "affinity", "agent", "arch", "audio", "autostart", "balloon", "bios", "boot", "bootdisk",
	"cicustom", "citype", "ciupgrade", "ciuser", "cpulimit", "cpuunits", "hotplug", "hugepages", "ide", "ipconfig",
	"keephugepages", "keyboard", "kvm", "localtime", "machine", "migrate_downtime", "migrate_speed", "nameserver", "net", "numa",
	"onboot", "ostype", "reboot", "rng", "sata", "scsi", "scsihw", "searchdomain", "serial", "shares", "sockets", "sshkeys",
	"startdate", "startup", "tablet", "tdf", "usb", "vcpus", "vga", "virtio", "vmgenid", "watchdog"}

// checkOptions refuses what the API does not know, before a machine is made with it.
func checkOptions(options map[string]string) error {
	for name := range options {
		plain := strings.TrimRight(name, "0123456789")
		if !slices.Contains(optionNames, plain) {
			return fmt.Errorf("proxmox.vmOptions: %q is no setting of a VM that may be given; known are %s", name,
				strings.Join(optionNames, ", "))
		}
	}
	return nil
}
