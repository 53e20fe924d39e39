package templatefolder

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// Why an entry is left out of an archive.
const (
	hidden        = "hidden"
	stateFile     = "Terraform's state"
	variablesFile = "a file with values of variables"
)

// leftOut says why the entry of this path is left out, or "". It looks at the entry
// alone: what is in a folder that is left out is not asked for.
func leftOut(name string) string {
	base := path.Base(name)
	switch {
	case strings.HasPrefix(base, ".") && base != ".terraform.lock.hcl":
		return hidden
	case strings.Contains(base, ".tfstate"):
		return stateFile
	case name == "terraform.tfvars", name == "terraform.tfvars.json",
		strings.HasSuffix(name, ".auto.tfvars"), strings.HasSuffix(name, ".auto.tfvars.json"):
		// These are the files that Terraform loads by itself.
		return variablesFile
	}
	return ""
}

// checkLink refuses a symbolic link that would carry into the archive what is left out of
// it. The target is what the link ends at, over other links too.
func (p *packer) checkLink(name string) error {
	top, err := filepath.EvalSymlinks(p.root.Name())
	if err != nil {
		return fmt.Errorf("read the folder: %w", err)
	}
	target, err := filepath.EvalSymlinks(filepath.Join(p.root.Name(), filepath.FromSlash(name)))
	if err != nil {
		return fmt.Errorf("follow the symbolic link %s: %w", name, err)
	}
	within, err := filepath.Rel(top, target)
	if err != nil || !filepath.IsLocal(within) {
		return fmt.Errorf("%s is a symbolic link that leaves the folder: put a copy in its place", name)
	}
	within = filepath.ToSlash(within)
	for part := within; part != "."; part = path.Dir(part) {
		if why := leftOut(part); why != "" {
			return fmt.Errorf("%s is a symbolic link to %s, which is left out as %s: remove the link", name, within, why)
		}
	}
	return nil
}
