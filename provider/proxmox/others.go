package proxmox

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/provider"
)

// Somebody clones a machine of ours, or restores its backup beside it, and what is made carries our tags and notes. Until the mark is
// taken off one of them nothing that changes anything is asked for: what is meant for one could meet the other.

// marked are the VMs that carry the mark of a claim, as far as is known without reading them, also those outside our range.
func (p *Provider) marked(v *view, uid types.UID) []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	var marked []int
	tag := tagOf(uid)
	for i := range v.guests {
		r := &v.guests[i]
		k := p.known[r.vmid()]
		noted := k.ok && k.tags == r.Tags && k.name == r.Name && k.mark.UID == uid
		if r.Type == "qemu" && r.Template == 0 && (r.tagged(tag) || noted) {
			marked = append(marked, r.vmid())
		}
	}
	return marked
}

// theOne is the claim's machine among the VMs of our range that carry its mark. Where the claim has recorded its number no other is it.
func (p *Provider) theOne(v *view, uid types.UID, id provider.ID, all []*found) (*found, error) {
	recorded, err := strconv.Atoi(string(id))
	if err != nil {
		recorded = 0
	}
	marked := p.marked(v, uid)
	for _, f := range all {
		vmid := f.row.vmid()
		if recorded == vmid || recorded == 0 && len(all) == 1 {
			f.others = slices.DeleteFunc(marked, func(other int) bool { return other == vmid })
			return f, nil
		}
	}
	for _, f := range all {
		marked = append(marked, f.row.vmid())
	}
	if len(marked) > 0 {
		slices.Sort(marked)
		return nil, &elsewhere{uid: uid, recorded: recorded, others: slices.Compact(marked)}
	}
	if !v.whole {
		return nil, blind(fmt.Sprintf("look for the machine of claim %s", uid))
	}
	return nil, errAbsent
}

// elsewhere means that no VM is known to be the claim's machine, while others carry its mark.
type elsewhere struct {
	uid      types.UID
	recorded int
	others   []int
}

func (e *elsewhere) Error() string {
	if e.recorded == 0 {
		return fmt.Sprintf("%s carry the mark of claim UID %s, and which of them is its machine is not recorded", vms(e.others), e.uid)
	}
	return fmt.Sprintf("the machine of claim UID %s is recorded to be VM %d, and what carries its mark is %s", e.uid, e.recorded, vms(e.others))
}

// Is makes it ErrUnknown: it is neither there nor proven to be gone.
func (e *elsewhere) Is(target error) bool { return target == provider.ErrUnknown }

// otherHint is what a person can do about VMs that carry the mark of a claim beside its machine.
func otherHint(uid types.UID) string {
	return fmt.Sprintf("of a copy, take off the tag %s and the line of its notes that begins with %q, or remove it", tagOf(uid),
		strings.TrimSpace(notePrefix))
}

// refusing is the error of a verb that changes something, where the look for the machine found others instead.
func refusing(err error) error {
	var e *elsewhere
	if errors.As(err, &e) {
		return &provider.Error{Op: "touch the machine of claim UID " + string(e.uid), Kind: provider.ErrRefused, Err: errors.New(e.Error()), Hint: otherHint(e.uid)}
	}
	return err
}

// speaksAgainst says why a machine may not be touched although its mark was read; empty when nothing does.
func (f *found) speaksAgainst() string {
	if len(f.others) > 0 {
		return fmt.Sprintf("VM %d and %s carry the mark of one claim", f.row.vmid(), vms(f.others))
	}
	if f.config.all == nil {
		return "" // it is being made, and nothing of it was read
	}
	return f.mark.speaksAgainst(f.config)
}

// vms names VMs by their numbers.
func vms(numbers []int) string {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = fmt.Sprintf("VM %d", n)
	}
	return strings.Join(texts, " and ")
}
