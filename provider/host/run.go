package host

import (
	"context"
	"time"
)

// passEvery is how often the hosts are looked at; a pass without anything due is one list.
const passEvery = 2 * time.Second

// Run makes passes until ctx ends, and returns when the steps under way have ended too. A BMC that hangs holds up its own
// host only.
func (k *Keeper) Run(ctx context.Context) {
	ticker := time.NewTicker(passEvery)
	defer ticker.Stop()
	defer k.Wait()
	for {
		if k.Leading == nil || k.Leading() {
			if err := k.Pass(ctx); err != nil && ctx.Err() == nil {
				k.Log.Warn("hosts", "provider", k.Name, "error", err)
			}
		} else {
			k.rest()
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
