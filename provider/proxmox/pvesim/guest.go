package pvesim

import (
	"crypto/md5" //nolint:gosec // a UUID that nobody relies on
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
)

// guest answers what is about one VM. Which permission is asked for, and in which order, is as PVE does it: without
// VM.Audit a VM that is not there is 403.
func (c *Cluster) guest(o *Operation, at, parameters map[string]string) answer {
	id, err := strconv.Atoi(at["vmid"])
	if err != nil {
		return answer{status: http.StatusBadRequest, message: "Parameter verification failed.", errors: map[string]string{"vmid": "type check ('integer') failed"}}
	}
	vm := c.vms[id]
	permission := map[string]string{"GET": "VM.Audit", "PUT": "VM.Config.Options", "POST": "VM.PowerMgmt", "DELETE": "VM.Allocate"}[o.Method]
	if o.Path == "/nodes/{node}/qemu/{vmid}/clone" {
		permission = "VM.Clone"
	}
	asked := vm
	if asked == nil {
		asked = &VM{ID: id}
	}
	if !c.mayVM(asked, permission) {
		return denied(fmt.Sprintf("/vms/%d", id), permission)
	}
	if o.Method == "PUT" {
		for name, value := range parameters {
			if driveName.MatchString(name) && strings.Contains(value, "media=cdrom") && !c.mayVM(asked, "VM.Config.CDROM") {
				return denied(fmt.Sprintf("/vms/%d", id), "VM.Config.CDROM")
			}
		}
	}
	if vm == nil || vm.Host != at["node"] {
		return died("Configuration file 'nodes/%s/qemu-server/%d.conf' does not exist", at["node"], id)
	}
	switch o.Method + " " + o.Path {
	case "GET /nodes/{node}/qemu/{vmid}/config":
		return c.config(vm)
	case "PUT /nodes/{node}/qemu/{vmid}/config":
		return c.configure(vm, parameters)
	case "GET /nodes/{node}/qemu/{vmid}/status/current":
		return c.current(vm)
	case "POST /nodes/{node}/qemu/{vmid}/status/start":
		return c.power(vm, true)
	case "POST /nodes/{node}/qemu/{vmid}/status/stop":
		return c.power(vm, false)
	case "POST /nodes/{node}/qemu/{vmid}/status/shutdown":
		return c.shutdown(vm, parameters)
	case "PUT /nodes/{node}/qemu/{vmid}/resize":
		return ok(c.run(vm.Host, "resize", at["vmid"], func() string {
			vm.Config[parameters["disk"]] = "local-lvm:vm-disk-0,size=" + parameters["size"]
			return "OK"
		}))
	case "POST /nodes/{node}/qemu/{vmid}/clone":
		return c.clone(vm, parameters)
	}
	return c.destroy(vm, parameters["purge"] == "1")
}

func (c *Cluster) config(vm *VM) answer {
	out := map[string]any{"digest": digest(vm.Config)}
	for name, value := range vm.Config {
		out[name] = value
		if n, err := strconv.Atoi(value); err == nil && (name == "cores" || name == "sockets") {
			out[name] = n
		}
	}
	if vm.Template {
		out["template"] = 1
	}
	return ok(out)
}

func (c *Cluster) current(vm *VM) answer {
	out := map[string]any{"vmid": vm.ID, "status": "stopped", "qmpstatus": "stopped", "ha": map[string]int{"managed": 0}}
	if vm.Running {
		out["status"], out["qmpstatus"] = "running", "running"
	}
	if vm.Config["lock"] != "" {
		out["lock"] = vm.Config["lock"]
	}
	return ok(out)
}

func (c *Cluster) configure(vm *VM, parameters map[string]string) answer {
	switch {
	case vm.Config["lock"] != "":
		return died("VM is locked (%s)", vm.Config["lock"])
	case !c.quorum:
		return died("unable to open file '/etc/pve/nodes/%s/qemu-server/%d.conf.tmp.1' - Permission denied", vm.Host, vm.ID)
	case parameters["digest"] != "" && parameters["digest"] != digest(vm.Config):
		return died("checksum mismatch (file change by other user?)")
	}
	for name, value := range parameters {
		if why := c.drive(vm, value); why != "" && driveName.MatchString(name) {
			return died("%s", why)
		}
	}
	for name, value := range parameters {
		switch name {
		case "digest":
		case "delete":
			for _, gone := range strings.Split(value, ",") {
				delete(vm.Config, gone)
			}
		case "tags":
			vm.Config[name] = tidyTags(value)
		default:
			vm.Config[name] = value
		}
	}
	return ok(nil)
}

func (c *Cluster) destroy(vm *VM, purge bool) answer {
	switch {
	case vm.Config["protection"] == "1":
		return died("can't remove VM %d - protection mode enabled", vm.ID)
	case vm.HA && !purge:
		return died("unable to remove VM %d - used in HA resources and purge parameter not set.", vm.ID)
	}
	if vm.Running {
		return died("VM %d is running - destroy failed", vm.ID)
	}
	return ok(c.run(vm.Host, "qmdestroy", strconv.Itoa(vm.ID), func() string {
		switch {
		case c.vms[vm.ID] != vm:
			return fmt.Sprintf("Configuration file 'nodes/%s/qemu-server/%d.conf' does not exist", vm.Host, vm.ID)
		case !c.quorum:
			return fmt.Sprintf("unable to open file '/etc/pve/nodes/%s/qemu-server/%d.conf.tmp.1' - Permission denied", vm.Host, vm.ID)
		case vm.Config["lock"] != "":
			return fmt.Sprintf("VM is locked (%s)", vm.Config["lock"])
		}
		delete(c.vms, vm.ID)
		return "OK"
	}))
}

func (c *Cluster) clone(source *VM, parameters map[string]string) answer {
	id, _ := strconv.Atoi(parameters["newid"])
	target, pool, full := source.Host, parameters["pool"], parameters["full"] == "1"
	if t := parameters["target"]; t != "" {
		target = t
	}
	if !c.may("/vms/"+parameters["newid"], "VM.Allocate") && (pool == "" || !c.may("/pool/"+pool, "VM.Allocate")) {
		return answer{status: http.StatusForbidden, message: "Permission check failed"}
	}
	storage := "local-lvm"
	if source.Config["scsi0"] != "" {
		storage, _, _ = strings.Cut(source.Config["scsi0"], ":")
	}
	switch {
	case !c.quorum:
		return died("cluster not ready - no quorum?")
	case c.host(target) == nil:
		return died("no such cluster node '%s'", target)
	case target != source.Host && !c.shared(storage):
		return died("can't clone VM to node '%s' (VM uses local storage)", target)
	case !full && parameters["storage"] != "":
		return died("parameter 'storage' not allowed for linked clones")
	case !full && !source.Template:
		return died("Linked clone feature is not supported for drive 'scsi0'")
	case c.vms[id] != nil:
		return died("unable to create VM %d: config file already exists", id)
	}
	vm := &VM{ID: id, Host: target, seen: c.Now(), Config: map[string]string{"lock": "clone", "description": "qmclone temporary file\n"}}
	c.vms[id] = vm
	return ok(c.run(source.Host, "qmclone", strconv.Itoa(source.ID), func() string {
		config := maps.Clone(source.Config)
		config["name"], config["description"] = parameters["name"], parameters["description"]
		sum := md5.Sum([]byte(parameters["newid"])) //nolint:gosec // see above
		config["smbios1"] = fmt.Sprintf("uuid=%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:])
		vm.Config, vm.Pool = config, pool
		return "OK"
	}))
}
