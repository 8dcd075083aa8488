package proxmox

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// owner is an attempt of a claim.
type owner struct {
	uid     types.UID
	attempt int32
}

// work is a task of ours that has not been seen to end. A restart forgets it; the VM's own lock and notes then say enough.
type work struct {
	owner
	what    string // clone, create, upload, start, shutdown, stop, destroy or resize
	vmid    int
	claim   string
	cluster types.UID
	id      upid // empty when the answer that named it was lost
	asked   time.Time
	host    string // where the machine will be
	source  string // where a clone reads from, or a disk is made
	storage string // where a clone or a new disk is
	pool    string // the NodePool
	need    want
	there   bool // the number of a clone was seen to be taken, by ourselves or by an answer that was lost
}

// making says that the work makes the machine.
func (w *work) making() bool { return w.what == "clone" || w.what == "create" }

// settle asks how the work on a VM stands. It returns the work while it goes on, and how it failed when it did.
func (p *Provider) settle(ctx context.Context, vmid int) (running *work, failure string, err error) {
	w := p.workOn(vmid)
	if w == nil {
		return nil, "", nil
	}
	if w.id.text == "" {
		if p.now().Sub(w.asked) < old {
			return w, "", nil
		}
		p.finish(w)
		return nil, "", nil
	}
	v, err := p.client.follow(ctx, w.id)
	if err != nil {
		return w, "", err
	}
	if v.running {
		return w, "", nil
	}
	p.finish(w)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case w.what == "shutdown":
		p.shutDown(w, v)
	case v.failure != "", v.forgotten:
	case w.what == "start":
		delete(p.asked, vmid)
		if w.id.kind != "hastart" { // the high-availability manager only took the order
			p.started[vmid] = w.owner
		}
	case w.what == "upload":
		p.uploaded[vmid] = w.owner
	}
	if w.stops() {
		return nil, "", nil // whether it is off is read, and where it is not it is asked for again
	}
	return nil, v.failure, nil
}

func (p *Provider) workOn(vmid int) *work {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.works[vmid]
}

func (p *Provider) begin(w *work) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.works[w.vmid] = w
	p.changes.Add(1)
}

func (p *Provider) finish(w *work) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.works[w.vmid] == w {
		delete(p.works, w.vmid)
	}
	p.changes.Add(1)
}

// forget drops what is remembered of a VM that is gone.
func (p *Provider) forget(vmid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.works, vmid)
	delete(p.reserved, vmid)
	delete(p.known, vmid)
	delete(p.started, vmid)
	delete(p.asked, vmid)
	delete(p.deleting, vmid)
	delete(p.uploaded, vmid)
}
