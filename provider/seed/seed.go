// Package seed makes what a new machine reads to join its cluster: files from Go templates, a bootstrap token of its own,
// and a small image of both that cloud-init (NoCloud), Ignition (platform proxmoxve) and Talos (platform nocloud) read
// alike. It keeps everything in memory, shows no content in an error, and knows no backend.
package seed

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"
)

// The names of the files, which are also the keys of the Secret with their templates.
const (
	UserData      = "user-data"
	MetaData      = "meta-data"
	NetworkConfig = "network-config"
)

// Facts are what templates may name.
type Facts struct {
	Provider, Region, Pool, Shape, Claim string
	// Node is the name that the node shall have, Machine the backend's name of the machine.
	Node, Machine, Host, Zone string
	// ProviderID and UUID are what the kubelet is to report; a cloud controller or the kubelet's own flag sets the first.
	ProviderID, UUID string
	Attempt          int32
	// CPU is in cores, Memory in bytes.
	CPU, Memory int64
	// Token is <id>.<secret>; empty when no token is asked for.
	Token, TokenID, TokenSecret string
}

// Format is who reads the user-data.
type Format string

// The formats. They differ in nothing but what their user-data must look like.
const (
	CloudInit Format = "CloudInit"
	Ignition  Format = "Ignition"
	Talos     Format = "Talos"
)

// maxFile is the most bytes that a file may have, as Proxmox VE's own requests.
const maxFile = 512 << 10

// Render fills the templates in. The meta-data is made where no template for it is given.
func Render(templates map[string][]byte, format Format, facts Facts) (map[string][]byte, error) {
	files := map[string][]byte{MetaData: fmt.Appendf(nil, "instance-id: %s\nlocal-hostname: %s\n", facts.UUID, facts.Node)}
	for _, name := range []string{UserData, MetaData, NetworkConfig} {
		text, given := templates[name]
		if !given {
			continue
		}
		content, err := render(name, string(text), facts)
		if err != nil {
			return nil, err
		}
		files[name] = content
	}
	if len(files[UserData]) == 0 {
		return nil, fmt.Errorf("the Secret has no key %s, or it is empty", UserData)
	}
	return files, format.check(files[UserData])
}

var functions = template.FuncMap{
	"base64": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"indent": func(n int, s string) string { return strings.ReplaceAll(s, "\n", "\n"+strings.Repeat(" ", n)) },
	"json": func(v any) (string, error) {
		b, err := json.Marshal(v)
		return string(b), err
	},
}

func render(name, text string, facts Facts) ([]byte, error) {
	t, err := template.New(name).Funcs(functions).Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: the template cannot be read%s", name, where(err))
	}
	out := &bytes.Buffer{}
	if err := t.Execute(out, facts); err != nil {
		return nil, fmt.Errorf("%s: the template cannot be filled in%s; it may name the fields listed in docs/proxmox.md", name, where(err))
	}
	if out.Len() > maxFile {
		return nil, fmt.Errorf("%s: %d bytes, at most %d are allowed", name, out.Len(), maxFile)
	}
	return out.Bytes(), nil
}

var position = regexp.MustCompile(`^template: [a-z-]+:(\d+)`)

// where is the line of an error. The rest of its text may quote the Secret.
func where(err error) string {
	if m := position.FindStringSubmatch(err.Error()); m != nil {
		return ", line " + m[1]
	}
	return ""
}

// check refuses user-data that nobody in the machine would understand: it would come up and never join.
func (f Format) check(userData []byte) error {
	switch f {
	case Ignition:
		// https://coreos.github.io/ignition/specs/ - ignition.version is the one required field.
		var config struct {
			Ignition struct {
				Version string `json:"version"`
			} `json:"ignition"`
		}
		if json.Unmarshal(userData, &config) != nil || config.Ignition.Version == "" {
			return fmt.Errorf("%s: Ignition reads JSON with ignition.version", UserData)
		}
	case Talos:
		// A machine configuration may be followed by further documents.
		first, _, _ := bytes.Cut(bytes.TrimPrefix(userData, []byte("---\n")), []byte("\n---"))
		var config struct {
			Version string         `json:"version"`
			Machine map[string]any `json:"machine"`
		}
		if yaml.Unmarshal(first, &config) != nil || config.Version == "" || config.Machine == nil {
			return fmt.Errorf("%s: Talos reads YAML with version and machine", UserData)
		}
	default:
		// https://cloudinit.readthedocs.io/en/latest/explanation/format.html
		for _, head := range []string{"#cloud-config", "#!", "#include", "#cloud-boothook", "## template: jinja", "Content-Type: multipart/"} {
			if bytes.HasPrefix(userData, []byte(head)) {
				return nil
			}
		}
		return fmt.Errorf("%s: cloud-init reads what begins with #cloud-config or another of its headers", UserData)
	}
	return nil
}
