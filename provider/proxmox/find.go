package proxmox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
)

// found is a VM of ours as it is now.
type found struct {
	row    *row
	config *vmConfig
	mark   mark
	status string // running or stopped, as its host says
	work   *work  // what is going on with it
	failed string // how the last work on it failed
	others []int  // the other VMs that carry the claim's mark
}

// knownMark is a mark that was read; it holds for these tags and this name.
type knownMark struct {
	tags, name string
	mark       mark
	ok         bool
}

func (p *Provider) inRange(vmid int) bool {
	return vmid >= int(p.spec.VMIDs.Min) && vmid <= int(p.spec.VMIDs.Max)
}

// candidate says that a row may be a machine of ours.
func (p *Provider) candidate(r *row) bool {
	return r.Type == "qemu" && r.Template == 0 && p.inRange(r.vmid())
}

// errAbsent is the inner form of a complete look that found nothing.
var errAbsent = errors.New("no such machine")

// find looks for the machine of a claim. id is where it was recorded to be, or empty. It returns errAbsent after a complete
// look, and ErrUnknown where a VM is still being cloned that may be the one.
func (p *Provider) find(ctx context.Context, v *view, uid types.UID, id provider.ID) (*found, error) {
	var all []*found
	marked := p.marked(v, uid)
	for _, vmid := range p.places(v, uid, id) {
		r := v.guest(vmid)
		if r == nil || !p.candidate(r) || len(all) > 0 && !slices.Contains(marked, vmid) {
			continue
		}
		f, err := p.read(ctx, r)
		if err != nil && id != "" && string(id) != strconv.Itoa(vmid) && !r.tagged(tagOf(uid)) && !v.online(r.Node) {
			continue // on a host that is away, and the claim's is recorded to be elsewhere
		}
		if err != nil && len(all) > 0 {
			continue // it is told of by its number
		}
		if err != nil {
			return nil, err
		}
		if f.mark.UID == uid {
			all = append(all, f)
			continue
		}
		if f.mark.Stage != "" || !r.beingMade() {
			continue
		}
		if w := p.workOn(vmid); w != nil && w.uid == uid {
			f.mark = p.cloning(w)
			all = append(all, f)
			continue
		}
		if string(id) == strconv.Itoa(vmid) {
			return nil, &provider.Error{Op: fmt.Sprintf("look for the machine of claim %s", uid), Kind: provider.ErrUnknown,
				Err:  fmt.Errorf("VM %d is being made and does not say yet for whom", vmid),
				Hint: fmt.Sprintf("if no task makes it any more: see its notes, then qm unlock %d and remove it by hand", vmid)}
		}
	}
	return p.theOne(v, uid, id, all)
}

// places are where the machine of a claim may be: where it was recorded, where we are working for it, where its tag is,
// and every VM of our range that has no tag yet.
func (p *Provider) places(v *view, uid types.UID, id provider.ID) []int {
	var places []int
	if vmid, err := strconv.Atoi(string(id)); err == nil {
		places = append(places, vmid)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	tag := tagOf(uid)
	for i := range v.guests {
		r := &v.guests[i]
		if !p.candidate(r) {
			continue
		}
		w, k := p.works[r.vmid()], p.known[r.vmid()]
		other := k.ok && k.tags == r.Tags && k.name == r.Name && k.mark.UID != uid
		if r.tagged(tag) || w != nil && w.uid == uid || w == nil && !r.tagged(tagOurs) && !other {
			places = append(places, r.vmid())
		}
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// read gets a VM's configuration and status from its host.
func (p *Provider) read(ctx context.Context, r *row) (*found, error) {
	f := &found{row: r, config: &vmConfig{}}
	op := fmt.Sprintf("read VM %d", r.vmid())
	if err := p.client.get(ctx, op, qemu(r.Node, r.vmid())+"/config", f.config); err != nil {
		return nil, err
	}
	m, ours := p.markIn(r, f.config)
	if !ours {
		p.learn(r, mark{}, true)
		return f, nil
	}
	f.mark = m
	p.learn(r, m, true)
	var current struct {
		Status string `json:"status"`
		Lock   string `json:"lock"`
		VMID   number `json:"vmid"`
	}
	if err := p.client.get(ctx, op, qemu(r.Node, r.vmid())+"/status/current", &current); err != nil {
		return nil, err
	}
	if current.Status == "" || int(current.VMID) != r.vmid() {
		return nil, &provider.Error{Op: op, Kind: provider.ErrUnknown,
			Err: fmt.Errorf("answered with VM %d in status %.20q", int(current.VMID), current.Status)}
	}
	f.status = current.Status
	return f, nil
}

// markIn is the mark that a VM carries, if it is one of this Provider's, and its own.
func (p *Provider) markIn(r *row, c *vmConfig) (mark, bool) {
	m, ok := readMark(c.Description)
	if !ok || m.Provider != p.config.Name || c.Template || m.copied(r.vmid()) {
		return mark{}, false
	}
	return m, true
}

// again reads a machine once more, between two requests that change it. It is to be the one that it was.
func (p *Provider) again(ctx context.Context, op string, f *found) error {
	now, err := p.read(ctx, f.row)
	if err != nil {
		return err
	}
	f.config, f.status = now.config, now.status
	was := f.mark
	if now.mark.Cluster == "" {
		was.Cluster = ""
	}
	if now.mark != was || f.speaksAgainst() != "" {
		return &provider.Error{Op: op, Kind: provider.ErrBusy, Err: fmt.Errorf("VM %d was changed by somebody else meanwhile", f.row.vmid())}
	}
	return nil
}

func (p *Provider) learn(r *row, m mark, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known[r.vmid()] = knownMark{tags: r.Tags, name: r.Name, mark: m, ok: ok}
}

// identityOf is the VM as its configuration describes it. Where that was not read, in a listing, and of a VM that is still being made,
// whose clone wrote a name and UUID of its own, it is what the mark promises: a reading has to agree with it later.
func identityOf(f *found) v1alpha1.MachineIdentity {
	id := v1alpha1.MachineIdentity{ID: strconv.Itoa(f.row.vmid())}
	switch {
	case f.mark.Stage == stageKept:
	case f.config == nil, f.mark.Stage == stageCloned:
		id.Name, id.SystemUUID = f.mark.name(), uuidOf(f.mark.UID, f.mark.Attempt)
	default:
		id.Name, id.SystemUUID = f.config.all["name"], f.config.smbiosUUID()
	}
	if name := f.nameRead(); name != "" && f.mark.Stage == stageCloned && f.mark.Node != "" {
		id.Name = name // the clone gave it
	}
	return id
}

func (f *found) nameRead() string {
	if f.config == nil {
		return ""
	}
	return f.config.all["name"]
}

// machine is what the caller is told of a VM.
func (p *Provider) machine(f *found) provider.Machine {
	return provider.Machine{
		ID: provider.ID(strconv.Itoa(f.row.vmid())), Claim: f.mark.Claim, ClaimUID: f.mark.UID, Attempt: f.mark.Attempt, Cluster: f.mark.Cluster,
		State: p.state(f), ProviderID: fmt.Sprintf("proxmox://%s/%d", p.spec.Region, f.row.vmid()),
		SystemUUID: uuidOf(f.mark.UID, f.mark.Attempt), NodeName: f.mark.name(),
		Identity: identityOf(f), On: f.status == "running", Twins: vms(f.others),
		Host: f.row.Node, Zone: f.row.Node, Message: f.failed, Seeded: f.mark.seeded(),
	}
}

func (p *Provider) state(f *found) provider.State {
	p.mu.Lock()
	defer p.mu.Unlock()
	vmid, who := f.row.vmid(), owner{f.mark.UID, f.mark.Attempt}
	switch {
	case p.deleting[vmid] == who:
		return provider.StateDeleting
	case f.failed != "":
		return provider.StateFailed
	case f.work != nil, f.row.Lock != "":
		return provider.StateCreating
	case f.status == "running":
		return provider.StateRunning
	case p.started[vmid] == who:
		return provider.StateFailed
	}
	return provider.StatePending
}

// Get returns the machine of a claim.
func (p *Provider) Get(ctx context.Context, m provider.Machine) (provider.Machine, error) {
	op := fmt.Sprintf("get the machine of claim %s", m.ClaimUID)
	if err := over(ctx, op); err != nil {
		return provider.Machine{}, err
	}
	defer p.claims.lock(string(m.ClaimUID))()
	f, err := p.observe(ctx, m.ClaimUID, m.ID)
	if errors.Is(err, errAbsent) {
		return provider.Machine{}, p.proveAbsent(ctx, op, m)
	}
	if err != nil {
		return provider.Machine{}, err
	}
	return p.machine(f), nil
}

// cloneError says why there is no machine: its clone has failed, and Proxmox VE has cleaned up.
type cloneError struct{ failure string }

func (e *cloneError) Error() string        { return e.failure }
func (e *cloneError) Is(target error) bool { return target == errAbsent }

// observe finds the machine of a claim and says what goes on with it.
func (p *Provider) observe(ctx context.Context, uid types.UID, id provider.ID) (*found, error) {
	cloneFailed := ""
	w := p.workFor(uid)
	if w != nil && w.making() && w.id.text != "" {
		var running *work
		var err error
		if running, cloneFailed, err = p.settle(ctx, w.vmid); err != nil {
			return nil, err
		}
		if running != nil {
			return p.unborn(w), nil
		}
	}
	v, err := p.look(ctx)
	if err != nil {
		return nil, err
	}
	f, err := p.find(ctx, v, uid, id)
	if errors.Is(err, errAbsent) && w != nil && w.there && p.workOn(w.vmid) == w && p.now().Sub(w.asked) < old {
		return p.unborn(w), nil
	}
	if errors.Is(err, errAbsent) && cloneFailed != "" {
		return nil, &cloneError{cloneFailed}
	}
	if err != nil {
		return nil, err
	}
	if w != nil && w.vmid == f.row.vmid() && w.making() && w.id.text == "" && f.row.Lock == "" && f.mark.Stage != "" {
		p.finish(w) // its answer was lost, and its work is there to be seen
	}
	if f.work, f.failed, err = p.settle(ctx, f.row.vmid()); err != nil {
		return nil, err
	}
	if f.failed != "" && (f.work == nil && f.status == "running" || kindIs(f.failed, provider.ErrBusy)) {
		f.failed = "" // it runs nevertheless, or a lock stood in the way: it is asked for again
	}
	return f, nil
}

func kindIs(failure string, kind error) bool {
	_, is := kindOfText(failure)
	return errors.Is(is, kind)
}

func (p *Provider) workFor(uid types.UID) *work {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.works {
		if w.uid == uid {
			return w
		}
	}
	return nil
}

// unborn is a machine that is being cloned: a token that sees its pool only does not see it before the clone ends.
func (p *Provider) unborn(w *work) *found {
	return &found{row: &row{VMID: number(w.vmid), Node: w.host}, config: &vmConfig{}, mark: p.cloning(w), work: w}
}
