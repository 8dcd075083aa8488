package pvesim

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	driveName = regexp.MustCompile(`^(ide|sata|scsi|virtio|efidisk)[0-9]+$`)
	newDisk   = regexp.MustCompile(`^([-a-zA-Z0-9_.]+):([0-9]+)(,|$)`)
)

// create makes a VM without a template. Its name is taken at once; the rest comes with the task.
func (c *Cluster) create(node string, parameters map[string]string) answer {
	id, _ := strconv.Atoi(parameters["vmid"])
	pool := parameters["pool"]
	if !c.may("/vms/"+parameters["vmid"], "VM.Allocate") && (pool == "" || !c.may("/pool/"+pool, "VM.Allocate")) {
		return answer{status: http.StatusForbidden, message: "Permission check failed"}
	}
	if vm := c.vms[id]; vm != nil {
		return died("unable to create VM %d - VM %d already exists on node '%s'", id, id, vm.Host)
	}
	if !c.quorum {
		return died("cluster not ready - no quorum?")
	}
	config := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		value := parameters[name]
		if name == "vmid" || name == "pool" {
			continue
		}
		config[name] = value
		if name == "tags" {
			config[name] = tidyTags(value)
		}
		disk := newDisk.FindStringSubmatch(value)
		if !driveName.MatchString(name) || disk == nil {
			continue
		}
		if !slices.ContainsFunc(c.stores, func(s Storage) bool { return s.Name == disk[1] }) {
			return died("storage '%s' does not exist", disk[1])
		}
		if !c.may("/storage/"+disk[1], "Datastore.AllocateSpace") {
			return denied("/storage/"+disk[1], "Datastore.AllocateSpace")
		}
		config[name] = fmt.Sprintf("%s:vm-%d-disk-%s,size=%sG", disk[1], id, strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyz"), disk[2])
	}
	vm := &VM{ID: id, Host: node, seen: c.Now(), Config: map[string]string{"lock": "create"}}
	c.vms[id] = vm
	return ok(c.run(node, "qmcreate", parameters["vmid"], func() string {
		vm.Config, vm.Pool = config, pool
		return "OK"
	}))
}
