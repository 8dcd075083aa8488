package redfishsim

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// Tree are the resources of a service by their path, as a real one told them. A BMC with a Tree answers with them; power,
// boot device, sessions and tasks are its own.
type Tree map[string]map[string]any

// ReadTree reads a tree from a folder of JSON files, or from one in a .tgz. What a resource calls itself is its path;
// where two files have one path, the first by name counts.
func ReadTree(name string) (Tree, error) {
	t := Tree{}
	if strings.HasSuffix(name, ".tgz") {
		return t, t.unpack(name)
	}
	return t, filepath.WalkDir(name, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(file) != ".json" {
			return err
		}
		text, err := os.ReadFile(file)
		if err == nil {
			t.Add(text)
		}
		return err
	})
}

func (t Tree) unpack(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	for files := tar.NewReader(unzipped); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !strings.HasSuffix(header.Name, ".json") {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(files, 1<<20))
		if err != nil {
			return err
		}
		t.Add(text)
	}
}

// Add puts in one resource; what is none is left out.
func (t Tree) Add(text []byte) {
	var resource map[string]any
	if json.Unmarshal(text, &resource) != nil {
		return
	}
	at, _ := resource["@odata.id"].(string)
	if at = strings.TrimSuffix(at, "/"); at != "" && t[at] == nil {
		t[at] = resource
	}
}

// System is the path of its one system with a reset action.
func (t Tree) System() (string, error) {
	members, _ := t["/redfish/v1/Systems"]["Members"].([]any)
	for _, m := range members {
		ref, _ := m.(map[string]any)
		at, _ := ref["@odata.id"].(string)
		if t[at] != nil {
			return at, nil
		}
	}
	return "", fmt.Errorf("the tree has no system")
}

// Personality is what a tree allows.
func (t Tree) Personality() (Personality, error) {
	at, err := t.System()
	if err != nil {
		return Personality{}, err
	}
	text, err := json.Marshal(t[at])
	if err != nil {
		return Personality{}, err
	}
	var s struct {
		Actions struct {
			Reset struct {
				Allowed []string `json:"ResetType@Redfish.AllowableValues"`
			} `json:"#ComputerSystem.Reset"`
		}
		Boot struct {
			Allowed []string `json:"BootSourceOverrideTarget@Redfish.AllowableValues"`
		}
	}
	err = json.Unmarshal(text, &s)
	return Personality{Tree: t, Resets: s.Actions.Reset.Allowed, Boots: s.Boot.Allowed}, err
}

// planted answers from the tree, and reports whether there is one.
func (b *BMC) planted(w http.ResponseWriter, r *http.Request, path string) bool {
	if b.Tree == nil {
		return false
	}
	system, err := b.Tree.System()
	resource := b.Tree[path]
	switch {
	case err != nil:
		fail(w, http.StatusInternalServerError, "Base.1.5.InternalError", err.Error())
	case r.Method == http.MethodPatch && path == system:
		b.patch(w, r, false)
	case r.Method == http.MethodPost && path == system+"/Actions/ComputerSystem.Reset":
		b.reset(w, r)
	case r.Method == http.MethodGet && path == system:
		answer(w, http.StatusOK, b.live(resource))
	case r.Method == http.MethodGet && resource != nil:
		answer(w, http.StatusOK, resource)
	default:
		return false
	}
	return true
}

// live is the system as it is now.
func (b *BMC) live(resource map[string]any) map[string]any {
	out := maps.Clone(resource)
	out["PowerState"] = b.power()
	boot, _ := resource["Boot"].(map[string]any)
	boot = maps.Clone(boot)
	if boot == nil {
		boot = map[string]any{}
	}
	for key, value := range b.boot {
		boot[key] = value
	}
	out["Boot"] = boot
	return out
}
