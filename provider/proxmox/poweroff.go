package proxmox

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/muster-sh/muster/provider"
)

// defaultShutdown is what Proxmox VE gives each guest when a host goes down.
const defaultShutdown = 3 * time.Minute

// managedDelay is how long the high-availability manager may take to begin with what it was asked for, and to see that it is done.
const managedDelay = time.Minute

// shutdown is one that a guest was asked for, and that has ended or was left to the high-availability manager.
type shutdown struct {
	owner
	until time.Time // the guest has time until then
}

func (p *Provider) shutdownTimeout() time.Duration {
	if d := p.spec.ShutdownTimeout; d != nil {
		return d.Duration
	}
	return defaultShutdown
}

// powerOff asks the guest of a running machine to shut down. The host that it runs on takes the power away when that has had its
// time, so that a Muster that is killed meanwhile has nothing to remember. A machine that runs after all that has its power taken
// away by ourselves.
func (p *Provider) powerOff(ctx context.Context, f *found) (provider.Machine, error) {
	seconds := int64(p.shutdownTimeout() / time.Second)
	last, asked := p.askedToShutDown(f)
	switch {
	case seconds < 1 || asked && !p.now().Before(last.until):
		return p.act(ctx, f, "stop", http.MethodPost, "/status/stop", nil)
	case asked:
		m := p.machine(f)
		m.State = provider.StateCreating
		return m, nil
	}
	// Which way the guest is asked, by its agent or by ACPI, is for Proxmox VE to choose: it knows whether there is an agent.
	return p.act(ctx, f, "shutdown", http.MethodPost, "/status/shutdown", map[string]any{"timeout": seconds, "forceStop": 1})
}

func (p *Provider) askedToShutDown(f *found) (shutdown, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, asked := p.asked[f.row.vmid()]
	return last, asked && last.owner == owner{f.mark.UID, f.mark.Attempt}
}

// stops says that the work takes the power off.
func (w *work) stops() bool { return w.what == "stop" || w.what == "shutdown" }

// shutDown notes that a shutdown has ended. One that a lock stood in the way of was none. Whoever holds p.mu calls it.
func (p *Provider) shutDown(w *work, v verdict) {
	if v.failure != "" && kindIs(v.failure, provider.ErrBusy) {
		return
	}
	s := shutdown{owner: w.owner, until: w.asked}
	if w.id.kind == "hastop" { // the high-availability manager only took the order
		s.until = w.asked.Add(p.shutdownTimeout() + managedDelay)
	}
	p.asked[w.vmid] = s
}

// switching are the tasks that change the power of a VM, and the work that each is.
var switching = map[string]string{"qmstart": "start", "qmstop": "stop", "qmshutdown": "shutdown", "qmreboot": "start", "qmreset": "start"}

// adopt takes over a task that switches the machine and that this process did not begin: a Muster before it did, or somebody else.
// While one is under way what the VM reads is no proof: a second order would wait behind the first, and take away the power of a
// machine that was started since.
func (p *Provider) adopt(ctx context.Context, op string, f *found) error {
	var tasks []struct {
		UPID string `json:"upid"`
		Type string `json:"type"`
		ID   string `json:"id"`
	}
	path := fmt.Sprintf("/nodes/%s/tasks?source=active&vmid=%d", url.PathEscape(f.row.Node), f.row.vmid())
	if err := p.client.get(ctx, op, path, &tasks); err != nil {
		return unsure(op, err)
	}
	for _, t := range tasks {
		what, switches := switching[t.Type]
		if !switches || t.ID != strconv.Itoa(f.row.vmid()) {
			continue
		}
		id, err := parseUPID(t.UPID)
		if err != nil {
			return typed(op, err)
		}
		p.begin(&work{owner: owner{f.mark.UID, f.mark.Attempt}, what: what, vmid: f.row.vmid(), claim: f.mark.Claim, id: id, asked: p.now(), host: f.row.Node})
		if f.work, _, err = p.settle(ctx, f.row.vmid()); err != nil || f.work != nil {
			return err
		}
		if err := p.again(ctx, op, f); err != nil { // it has ended meanwhile
			return err
		}
	}
	return nil
}

// unsure is the error of a look that failed: whatever it was, nothing is proven by it.
func unsure(op string, err error) error {
	return &provider.Error{Op: op, Kind: provider.ErrUnknown, Hint: provider.HintOf(err), Err: err}
}
