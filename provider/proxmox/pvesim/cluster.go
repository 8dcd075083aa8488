// Package pvesim is a Proxmox VE cluster in memory that speaks the wire: asynchronous tasks, locks, several hosts, tokens
// with permissions, and the answers that PVE 9.2 was measured to give. It refuses what the published API description
// refuses. Time comes from outside, so tasks end when a test says so.
package pvesim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Host is one node of the cluster.
type Host struct {
	Name   string
	CPUs   int
	Memory int64 // bytes
	Online bool
	// Bridges are vmbr0 and vmbr1 unless given.
	Bridges []string
}

// VM is one guest.
type VM struct {
	ID       int
	Host     string
	Template bool
	Running  bool
	Pool     string
	// HA says that the high-availability manager starts and stops the VM, some seconds after it was asked to.
	HA     bool
	Config map[string]string
	// Deaf says that the guest does not shut down when it is asked to; Hidden that no listing has it.
	Deaf, Hidden bool
	// Starts and Stops are how often it came on and went off, and Shutdowns how many of the latter the guest did itself.
	Starts, Stops, Shutdowns int
	// seen is when pvestatd first reported it: until then listings know neither its name nor its status.
	seen time.Time
}

// Storage is one store; a shared one is on every host. Content is as PVE names it: images, rootdir, iso.
type Storage struct {
	Name    string
	Shared  bool
	Content string
}

// Cluster holds everything. Safe for concurrent use.
type Cluster struct {
	Now func() time.Time
	// TaskTime is how long a task takes; tasks end when a request or Settle comes after that.
	TaskTime time.Duration

	mu       sync.Mutex
	hosts    []*Host
	stores   []Storage
	volumes  map[string][]byte // by host (empty for shared storage), space, and volume
	vms      map[int]*VM
	tasks    map[string]*task
	order    []*task
	number   int
	tokens   map[string]string
	rights   map[string]map[string]int
	quorum   bool
	requests []string
	broken   []Fault
}

// New returns a cluster with hosts that are online, local storage "local-lvm", shared storage "shared", and for images the
// local storage "local" and the shared one "iso".
func New(now func() time.Time, hosts ...Host) *Cluster {
	c := &Cluster{Now: now, TaskTime: time.Second, vms: map[int]*VM{}, tasks: map[string]*task{}, tokens: map[string]string{},
		rights: map[string]map[string]int{}, quorum: true, volumes: map[string][]byte{}, stores: []Storage{
			{Name: "local-lvm", Content: "images,rootdir"}, {Name: "shared", Shared: true, Content: "images,rootdir"},
			{Name: "local", Content: "iso,vztmpl"}, {Name: "iso", Shared: true, Content: "iso"}}}
	for _, h := range hosts {
		c.Add(h)
	}
	return c
}

// Add joins a host to the cluster; it is online.
func (c *Cluster) Add(h Host) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h.Online = true
	if h.Bridges == nil {
		h.Bridges = []string{"vmbr0", "vmbr1"}
	}
	c.hosts = append(c.hosts, &h)
}

// Token lets a token in. Permissions are those of all tokens.
func (c *Cluster) Token(id, secret string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tokens[id] = secret
}

// Allow replaces what tokens may do, by path; each permission is inherited by the paths below.
func (c *Cluster) Allow(rights map[string][]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rights = map[string]map[string]int{}
	for path, names := range rights {
		c.rights[path] = map[string]int{}
		for _, name := range names {
			c.rights[path][name] = 1
		}
	}
}

// Put adds a guest.
func (c *Cluster) Put(vm VM) {
	c.mu.Lock()
	defer c.mu.Unlock()
	vm.Config = maps.Clone(vm.Config)
	if vm.Config == nil {
		vm.Config = map[string]string{}
	}
	vm.seen = c.Now()
	c.vms[vm.ID] = &vm
}

// VM returns a copy of a guest.
func (c *Cluster) VM(id int) (VM, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	vm := c.vms[id]
	if vm == nil {
		return VM{}, false
	}
	out := *vm
	out.Config = maps.Clone(vm.Config)
	return out, true
}

// VMs returns copies of all guests, by number.
func (c *Cluster) VMs() []VM {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	var all []VM
	for _, id := range slices.Sorted(maps.Keys(c.vms)) {
		vm := *c.vms[id]
		vm.Config = maps.Clone(vm.Config)
		all = append(all, vm)
	}
	return all
}

// Remove takes a guest away behind everybody's back.
func (c *Cluster) Remove(id int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.vms, id)
}

// Change changes a guest from behind.
func (c *Cluster) Change(id int, how func(*VM)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	how(c.vms[id])
}

// Online switches a host.
func (c *Cluster) Online(host string, online bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.host(host).Online = online
}

// Quorum says whether the cluster may write.
func (c *Cluster) Quorum(has bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.quorum = has
}

// Requests returns what was asked for so far, as "METHOD /path", and forgets it.
func (c *Cluster) Requests() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.requests
	c.requests = nil
	return all
}

// Fault is an answer that the next matching request gets.
type Fault struct {
	// Method and Part of the path say which request.
	Method, Part string
	// Status and Message are the answer; with Status 0 the task that the request begins fails with Message.
	Status  int
	Message string
	// Field is the parameter that a 400 is about.
	Field string
	// Done says that the request is carried out nevertheless.
	Done bool
}

// Break sets a fault; each hits once.
func (c *Cluster) Break(f Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = append(c.broken, f)
}

// Mend takes back the faults that have not hit.
func (c *Cluster) Mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = nil
}

func (c *Cluster) fault(method, path string) *Fault {
	for i, f := range c.broken {
		if (f.Method == "" || f.Method == method) && strings.Contains(path, f.Part) {
			c.broken = slices.Delete(c.broken, i, i+1)
			return &f
		}
	}
	return nil
}

func (c *Cluster) host(name string) *Host {
	for _, h := range c.hosts {
		if h.Name == name {
			return h
		}
	}
	return nil
}

func (c *Cluster) shared(storage string) bool {
	return slices.ContainsFunc(c.stores, func(s Storage) bool { return s.Name == storage && s.Shared })
}

// task is one worker process.
type task struct {
	upid, host, kind, id string
	ends                 time.Time
	exit                 string // empty while it runs
	locks                bool   // it holds the lock of its guest
	end                  func() string
}

// run begins a task; end is called when it ends and returns its exit status.
func (c *Cluster) run(host, kind, id string, end func() string) string {
	c.number++
	t := &task{host: host, kind: kind, id: id, ends: c.Now().Add(c.TaskTime), end: end}
	t.upid = fmt.Sprintf("UPID:%s:%08X:%08X:%08X:%s:%s:muster@pve!m:", host, 1000+c.number, c.number, c.Now().Unix(), kind, id)
	c.tasks[t.upid] = t
	c.order = append(c.order, t)
	return t.upid
}

// settle ends the tasks that are due, in the order in which they began.
func (c *Cluster) settle() {
	var left []*task
	due := c.order
	c.order = nil
	for _, t := range due {
		if c.Now().Before(t.ends) {
			left = append(left, t)
			continue
		}
		t.exit = t.end()
	}
	c.order = append(left, c.order...) // what ended may have begun something
}

// pvestatd is how often listings learn of a guest's name and status.
const pvestatd = 10 * time.Second
