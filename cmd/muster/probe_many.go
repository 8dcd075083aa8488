package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/muster-sh/muster/provider/dial"
	"github.com/muster-sh/muster/provider/host/ipmi"
	"github.com/muster-sh/muster/provider/host/redfish"
)

const (
	// probesAtOnce is how many BMCs are read at a time, each by one request.
	probesAtOnce = 16
	// mostAddresses bounds a range: a /22.
	mostAddresses = 1024
	// knock is how long an address of a range has to take a connection.
	knock = 2 * time.Second
)

// target is one BMC to read.
type target struct {
	address, fingerprint, name string
	ipmi                       bool
	scanned                    bool // of a range: most of its addresses are nobody's
}

// probed is what came of it.
type probed struct {
	target
	nobody    bool // no connection, at an address of a range
	inventory redfish.Inventory
	overIPMI  *ipmi.Inventory
	manifest  string
	err       error
}

// targets are the BMCs of the arguments and of the list, each once.
func (f probeFlags) targets(args []string) ([]target, error) {
	lines := args
	if f.list != "" {
		file, err := os.Open(f.list)
		if err != nil {
			return nil, fmt.Errorf("--list: %w", err)
		}
		defer func() { _ = file.Close() }()
		for s := bufio.NewScanner(file); s.Scan(); {
			lines = append(lines, s.Text())
		}
	}
	var all []target
	for _, line := range lines {
		more, err := targetsOf(line)
		if err != nil {
			return nil, err
		}
		for _, t := range more {
			if !slices.ContainsFunc(all, func(known target) bool { return known.address == t.address && known.ipmi == t.ipmi }) {
				all = append(all, t)
			}
		}
	}
	switch {
	case len(all) == 0:
		return nil, errors.New("no BMC: give an address, a range such as 10.0.9.0/24, or --list")
	case len(all) > 1 && (f.fingerprint != "" || f.manifest.name != ""):
		return nil, errors.New("--fingerprint and --name are those of one BMC: for several, write them into --list")
	}
	return all, nil
}

// targetsOf reads one line: ADDRESS [FINGERPRINT [NAME]], or a range.
func targetsOf(line string) ([]target, error) {
	line, _, _ = strings.Cut(line, "#")
	words := strings.Fields(line)
	if len(words) == 0 {
		return nil, nil
	}
	if len(words) > 3 {
		return nil, fmt.Errorf("line %q: use ADDRESS [FINGERPRINT [NAME]]", line)
	}
	if prefix, err := netip.ParsePrefix(words[0]); err == nil && len(words) == 1 {
		return addressesOf(prefix)
	}
	t := target{}
	if len(words) > 1 && words[1] != "-" {
		t.fingerprint = strings.ToUpper(words[1])
	}
	if len(words) > 2 {
		t.name = words[2]
	}
	if name, is := strings.CutPrefix(words[0], "ipmi://"); is {
		t.address, t.ipmi = name, true
		if name == "" || strings.ContainsAny(name, "/@") || t.fingerprint != "" {
			return nil, fmt.Errorf("line %q: use ipmi://name or ipmi://name:port, and no fingerprint: IPMI has no certificates", line)
		}
		return []target{t}, nil
	}
	var err error
	t.address, err = endpointOf(words[0])
	return []target{t}, err
}

func addressesOf(prefix netip.Prefix) ([]target, error) {
	prefix = prefix.Masked()
	if bits := prefix.Addr().BitLen() - prefix.Bits(); bits > 10 {
		return nil, fmt.Errorf("range %s: use at most %d addresses at a time", prefix, mostAddresses)
	}
	var all []target
	for a := prefix.Addr(); prefix.Contains(a); a = a.Next() {
		all = append(all, target{address: "https://" + netip.AddrPortFrom(a, 443).String(), scanned: true})
	}
	if len(all) > 2 && prefix.Addr().Is4() {
		all = all[1 : len(all)-1] // the network itself, and everybody
	}
	return all, nil
}

// many probes all of them, tells how far it is, and ends with a table.
func (f probeFlags) many(ctx context.Context, targets []target, password string, stdout, stderr io.Writer) error {
	results := make([]probed, len(targets))
	slots, done := make(chan struct{}, probesAtOnce), 0
	var told sync.Mutex
	var all sync.WaitGroup
	for i, t := range targets {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(ctx, probeTime)
			defer cancel()
			results[i] = probed{target: t, nobody: true}
			if !t.scanned || answers(ctx, t) {
				results[i] = f.one(ctx, t, password)
			}
			told.Lock()
			defer told.Unlock()
			done++
			if !results[i].nobody {
				fmt.Fprintf(stderr, "%d of %d: %s: %s\n", done, len(targets), t.address, results[i].word())
			}
		})
	}
	all.Wait()
	results = slices.DeleteFunc(results, func(r probed) bool { return r.nobody })
	probeTable(stderr, results, len(targets))
	return f.write(results, stdout)
}

// answers says whether somebody takes a connection.
func answers(ctx context.Context, t target) bool {
	conn, err := dial.Dialer(knock).DialContext(ctx, "tcp", strings.TrimPrefix(t.address, "https://"))
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// word is the result in one.
func (r probed) word() string {
	var u *untrusted
	switch {
	case errors.As(r.err, &u):
		return "not trusted"
	case r.err != nil:
		return "failed"
	}
	return "read"
}

// probeTable has a row for each system, and one for each BMC that was not read.
func probeTable(w io.Writer, results []probed, asked int) {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "\nADDRESS\tRESULT\tMODEL\tSERIAL\tCPU\tMEMORY\tGPUS\tPOWER\tUUID")
	read := 0
	for _, r := range results {
		switch {
		case r.err != nil:
			fmt.Fprintf(t, "%s\t%s\t%s\n", r.address, r.word(), reason(r.err))
			continue
		case r.overIPMI != nil:
			fmt.Fprintf(t, "ipmi://%s\tread\tmaker %d\t\t\t\t\t%s\t\n", r.address, r.overIPMI.Manufacturer, r.overIPMI.Power)
		}
		read++
		for _, s := range r.inventory.Systems {
			fmt.Fprintf(t, "%s\tread\t%s\t%s\t%d\t%gGi\t%d\t%s\t%s\n", r.address, strings.TrimSpace(s.Manufacturer+" "+s.Model),
				s.SerialNumber, s.CPUs, s.MemoryGiB, len(s.GPUs), s.Power, s.UUID)
		}
	}
	_ = t.Flush()
	fmt.Fprintf(w, "%d addresses, %d answered, %d read\n", asked, len(results), read)
}

func reason(err error) string {
	var u *untrusted
	if errors.As(err, &u) {
		return "fingerprint " + u.fingerprint
	}
	return err.Error()
}

// write puts the manifests and the list where they were asked for. BMCs that could not be read make the exit status bad.
func (f probeFlags) write(results []probed, stdout io.Writer) error {
	failed, list := 0, &strings.Builder{}
	for i, r := range results {
		if r.err != nil {
			failed++
		}
		if err := f.put(r, i, stdout); err != nil {
			return err
		}
		line := r.address + " " + cmp.Or(r.seen(), "-") + " " + r.name
		if r.ipmi {
			line = "ipmi://" + r.address + " - " + r.name
		}
		fmt.Fprintln(list, strings.TrimSuffix(strings.TrimSpace(line), " -"))
	}
	if f.listOut != "" {
		if err := os.WriteFile(f.listOut, []byte(list.String()), 0o600); err != nil {
			return fmt.Errorf("--list-out: %w", err)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d BMCs were not read", failed, len(results))
	}
	return nil
}

// seen is the fingerprint that the BMC is trusted by, or would have to be.
func (r probed) seen() string {
	var u *untrusted
	if errors.As(r.err, &u) {
		return u.fingerprint
	}
	return r.fingerprint
}

func (f probeFlags) put(r probed, i int, stdout io.Writer) error {
	if r.manifest == "" {
		return nil
	}
	if f.out == "" {
		if i > 0 {
			fmt.Fprintln(stdout, "---")
		}
		_, err := io.WriteString(stdout, r.manifest)
		return err
	}
	if err := os.MkdirAll(f.out, 0o750); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(strings.TrimPrefix(r.address, "https://")), "-"), "-") + ".yaml"
	if err := os.WriteFile(filepath.Join(f.out, name), []byte(r.manifest), 0o600); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}

// overIPMI reads a BMC that has no Redfish.
func (f probeFlags) overIPMI(ctx context.Context, password string, r *probed) {
	s := ipmi.New(ipmi.Config{Address: r.address, Credentials: &dial.Credentials{Now: time.Now,
		Read: dial.Static(map[string]string{"username": f.username, "password": password})}})
	var i ipmi.Inventory
	if i, r.err = s.Probe(ctx); r.err != nil {
		return
	}
	m := f.manifest
	m.name, m.address = cmp.Or(r.name, m.name), r.address
	if name, port, err := net.SplitHostPort(r.address); err == nil && port == "623" {
		m.address = name
	}
	r.overIPMI = &i
	r.manifest, r.err = m.overIPMI(i)
}
