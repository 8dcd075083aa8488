package proxmox

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-sh/muster/provider"
)

// number is tolerant: servers write numbers as strings, and flags as booleans.
type number float64

// UnmarshalJSON takes numbers, numbers in strings, booleans and null.
func (n *number) UnmarshalJSON(b []byte) error {
	b = bytes.Trim(b, `"`)
	switch string(b) {
	case "null", "", "false":
		*n = 0
	case "true":
		*n = 1
	default:
		f, err := strconv.ParseFloat(string(b), 64)
		if err != nil {
			return err
		}
		*n = number(f)
	}
	return nil
}

// row is one line of cluster/resources. Name, cpu and mem of a VM are up to 10 s old and missing for a new one; node, tags,
// lock and template are always the present ones.
type row struct {
	Type     string `json:"type"`
	ID       string `json:"id"`
	Node     string `json:"node"`
	VMID     number `json:"vmid"`
	Name     string `json:"name"`
	Status   string `json:"status"`
	Template number `json:"template"`
	Tags     string `json:"tags"`
	Lock     string `json:"lock"`
	Pool     string `json:"pool"`
	HAState  string `json:"hastate"`
	MaxCPU   number `json:"maxcpu"`
	Mem      number `json:"mem"`
	MaxMem   number `json:"maxmem"`
	Storage  string `json:"storage"`
	Shared   number `json:"shared"`
	Disk     number `json:"disk"`
	MaxDisk  number `json:"maxdisk"`
	Content  string `json:"content"`
}

func (r *row) vmid() int { return int(r.VMID) }

// tags are split as Proxmox VE splits them, at any of ; , and space.
func (r *row) tags() []string { return splitTags(r.Tags) }

func splitTags(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return c == ';' || c == ',' || c == ' ' })
}

// beingMade says that a clone or a creation has not come to its end, or died.
func (r *row) beingMade() bool { return r.Lock == "clone" || r.Lock == "create" }

func (r *row) tagged(tag string) bool { return slices.Contains(r.tags(), tag) }

// view is the whole cluster at one time. Guests, hosts and stores are sorted.
type view struct {
	guests []row
	hosts  []row
	stores []row
	// whole says that the token may see every VM that could be ours.
	whole bool
}

func (v *view) guest(vmid int) *row {
	i := slices.IndexFunc(v.guests, func(r row) bool { return r.vmid() == vmid })
	if i < 0 {
		return nil
	}
	return &v.guests[i]
}

// online says that a host answers, as the others see it.
func (v *view) online(name string) bool {
	return slices.ContainsFunc(v.hosts, func(h row) bool { return h.Node == name && h.Status == "online" })
}

// look reads the cluster, or takes a look that is not older than Config.ViewAge and not older than our last change.
func (p *Provider) look(ctx context.Context) (*view, error) {
	p.viewing.Lock()
	defer p.viewing.Unlock()
	began, changes := p.now(), p.changes.Load()
	if p.view != nil && p.viewChanges == changes && began.Sub(p.viewAt) < p.config.ViewAge {
		return p.view, nil
	}
	var rows []json.RawMessage
	if err := p.client.get(ctx, "read the cluster's resources", "/cluster/resources", &rows); err != nil {
		return nil, err
	}
	v := &view{}
	for _, raw := range rows {
		if err := v.add(raw); err != nil {
			return nil, typed("read the cluster's resources", err)
		}
	}
	v.sort()
	rights, err := p.permissions(ctx)
	if err != nil {
		return nil, err
	}
	v.whole = rights.sees(p.spec.Pool)
	p.view, p.viewAt, p.viewChanges = v, began, changes
	return v, nil
}

func (v *view) add(raw json.RawMessage) error {
	var kind struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return err
	}
	into := map[string]*[]row{"qemu": &v.guests, "lxc": &v.guests, "node": &v.hosts, "storage": &v.stores}[kind.Type]
	if into == nil {
		return nil // pools, networks and what later versions add
	}
	var r row
	if err := json.Unmarshal(raw, &r); err != nil {
		return err
	}
	*into = append(*into, r)
	return nil
}

func (v *view) sort() {
	slices.SortFunc(v.guests, func(a, b row) int { return a.vmid() - b.vmid() })
	slices.SortFunc(v.hosts, func(a, b row) int { return strings.Compare(a.Node, b.Node) })
	slices.SortFunc(v.stores, func(a, b row) int { return strings.Compare(a.ID, b.ID) })
}

// rights are the permissions of our token, by path.
type rights map[string]map[string]number

// has says whether a permission holds on a path: on the path itself, or inherited from one above it.
func (r rights) has(path, permission string) bool {
	for at, first := path, true; ; first = false {
		if held, ok := r[at]; ok {
			propagates, holds := held[permission]
			if holds && (first || propagates != 0) {
				return true
			}
			return false // the nearest entry decides
		}
		if at == "/" {
			return false
		}
		if i := strings.LastIndex(at, "/"); i > 0 {
			at = at[:i]
		} else {
			at = "/"
		}
	}
}

// sees says whether VM.Audit holds where all our machines are. Without it cluster/resources leaves them out in silence.
func (r rights) sees(pool string) bool {
	return r.has("/vms", "VM.Audit") || pool != "" && r.has("/pool/"+pool, "VM.Audit")
}

func (p *Provider) permissions(ctx context.Context) (rights, error) {
	if p.rights != nil && p.now().Sub(p.rightsAt) < p.config.ViewAge*30 {
		return p.rights, nil
	}
	began := p.now()
	var r rights
	if err := p.client.get(ctx, "read the token's permissions", "/access/permissions", &r); err != nil {
		return nil, err
	}
	p.rights, p.rightsAt = r, began
	return r, nil
}

// blind is the error for a look that proves nothing.
func blind(op string) error {
	return &provider.Error{Op: op, Kind: provider.ErrUnknown, Hint: blindHint}
}

const blindHint = "the token may not see all machines: give its role VM.Audit on the pool, or on /vms"

// old is for how long a clone whose answer was lost may still begin: pveproxy gives a host 30 s.
const old = 35 * time.Second
