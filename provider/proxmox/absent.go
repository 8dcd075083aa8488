package proxmox

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/provider"
)

// proveAbsent is ErrNotFound, unless a clone may still begin or run that would be this claim's machine.
func (p *Provider) proveAbsent(ctx context.Context, op string, uid types.UID) error {
	if w := p.workFor(uid); w != nil {
		running, _, err := p.settle(ctx, w.vmid)
		switch {
		case err != nil:
			return err
		case running != nil && w.what == "clone":
			return &provider.Error{Op: op, Kind: provider.ErrUnknown,
				Err: fmt.Errorf("the clone to VM %d has not been seen to end", w.vmid)}
		case running == nil && w.what == "clone":
			return &provider.Error{Op: op, Kind: provider.ErrUnknown, Err: fmt.Errorf("the clone to VM %d ended after we looked", w.vmid)}
		}
		p.forget(w.vmid)
	}
	if err := p.noStrayClones(ctx, op); err != nil {
		return err
	}
	return &provider.Error{Op: op, Kind: provider.ErrNotFound}
}

// noStrayClones asks the hosts for clones of ours that this process does not know: those of a Muster that was killed. Whose
// machine they make is to be seen when they end.
func (p *Provider) noStrayClones(ctx context.Context, op string) error {
	v, err := p.look(ctx)
	if err != nil {
		return err
	}
	for i := range v.hosts {
		h := &v.hosts[i]
		templates := slices.ContainsFunc(v.guests, func(g row) bool { return g.Template != 0 && g.Node == h.Node && p.chosen(&g) })
		if h.Status != "online" || !templates {
			continue
		}
		var tasks []struct {
			UPID string `json:"upid"`
		}
		if err := p.client.get(ctx, op, "/nodes/"+url.PathEscape(h.Node)+"/tasks?source=active&typefilter=qmclone", &tasks); err != nil {
			return &provider.Error{Op: op, Kind: provider.ErrUnknown, Err: err}
		}
		for _, t := range tasks {
			if !p.knows(t.UPID) {
				return &provider.Error{Op: op, Kind: provider.ErrUnknown, Err: fmt.Errorf("a clone runs on host %s that may be its machine", h.Node)}
			}
		}
	}
	return nil
}

func (p *Provider) knows(task string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.works {
		if w.id.text == task {
			return true
		}
	}
	return false
}
