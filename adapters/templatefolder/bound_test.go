package templatefolder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestTheWalkIsBounded(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", ".hidden"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	for _, row := range []struct {
		why    string
		before int
		err    error
	}{
		{"the last ones fit", MaxEntries - 2, nil},
		{"what is left out counts too: it takes time", MaxEntries - 1, ErrTooManyEntries},
	} {
		p := packer{ctx: t.Context(), root: root, entries: row.before}
		if err := fs.WalkDir(root.FS(), ".", p.visit); !errors.Is(err, row.err) {
			t.Errorf("%s: error %v, want %v", row.why, err, row.err)
		}
	}
}
