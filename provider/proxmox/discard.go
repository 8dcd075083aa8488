package proxmox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-sh/muster/provider"
)

// joined takes away what a machine joined with.
func (p *Provider) joined(ctx context.Context, op string, r provider.Request, f *found) (provider.Machine, error) {
	if f.mark.Attempt != r.Attempt {
		return provider.Machine{}, &provider.Error{Op: op, Kind: provider.ErrRefused, Err: fmt.Errorf("the machine is of attempt %d", f.mark.Attempt)}
	}
	if why := f.speaksAgainst(); why != "" {
		return provider.Machine{}, notOurs(f, why)
	}
	if err := p.discard(ctx, f); err != nil {
		return provider.Machine{}, err
	}
	return p.machine(f), nil
}

// discard takes the token away, the image out of its drive and off its storage, and when that is proven, the word about it
// out of the notes. It may be called at any time and any number of times; the mark says
// when nothing is left.
func (p *Provider) discard(ctx context.Context, f *found) error {
	if !f.mark.seeded() {
		return nil
	}
	op := fmt.Sprintf("take away what VM %d joined with", f.row.vmid())
	if err := p.revoke(ctx, op, f.mark.Token); err != nil {
		return err
	}
	if drive := f.config.driveOf(f.mark.Seed); drive != "" {
		// An empty drive is what a running guest can be left with; drives themselves cannot be unplugged.
		if err := p.write(ctx, "eject what VM %d on host %s joined with", f, map[string]any{drive: "none,media=cdrom"}); err != nil {
			return err
		}
		if err := p.again(ctx, op, f); err != nil {
			return err
		}
	}
	if storage, _, named := strings.Cut(f.mark.Seed, ":"); named {
		if there, err := p.erase(ctx, op, f.row.Node, storage, f.mark.Seed); there || err != nil {
			return err
		}
	}
	m := f.mark
	m.Seed, m.Token = "", ""
	if err := p.write(ctx, "note that VM %d on host %s has joined", f, map[string]any{"description": m.renote(f.config.Description)}); err != nil {
		return err
	}
	p.mu.Lock()
	delete(p.uploaded, f.row.vmid())
	delete(p.known, f.row.vmid())
	p.mu.Unlock()
	f.mark = m
	return nil
}

func (p *Provider) revoke(ctx context.Context, op, token string) error {
	if token == "" || p.config.Tokens == nil {
		return nil
	}
	if err := p.config.Tokens.Delete(ctx, token); err != nil {
		return kubeError(op, err, tokenHint)
	}
	return nil
}

// erase removes a volume and says whether it is still there.
func (p *Provider) erase(ctx context.Context, op, node, storage, volume string) (there bool, err error) {
	if there, err = p.client.holds(ctx, op, node, storage, volume); !there || err != nil {
		return there, err
	}
	if err := p.client.removeVolume(ctx, op, node, storage, volume); err != nil {
		return true, err
	}
	return p.client.holds(ctx, op, node, storage, volume)
}

// sweep removes what a machine that is gone was to join with: somebody else may have removed it. The notes that named the
// storage are gone, so every storage for images is looked at: shared ones once, others where the machine was.
func (p *Provider) sweep(ctx context.Context, op string, v *view, m provider.Machine) error {
	if !m.Seeded {
		return nil
	}
	if err := p.revoke(ctx, op, tokenID(m.ClaimUID, m.Attempt)); err != nil {
		return err
	}
	var looked []string
	for i := range v.stores {
		s := &v.stores[i]
		online := v.online(s.Node)
		elsewhere := s.Shared == 0 && m.Host != "" && m.Host != s.Node
		if !online || elsewhere || slices.Contains(looked, s.Storage) || !slices.Contains(strings.Split(s.Content, ","), "iso") {
			continue
		}
		if s.Shared != 0 {
			looked = append(looked, s.Storage)
		}
		there, err := p.erase(ctx, op, s.Node, s.Storage, s.Storage+":iso/"+imageName(m.ClaimUID, m.Attempt))
		if err == nil && there {
			err = &provider.Error{Op: op, Kind: provider.ErrBusy, Err: errors.New("the image that it was to join with is still being removed")}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
