package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/assay-dev/assay/adapters/sqlstore"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/doctor"
)

// checkStateName is the name of the check that the command line adds to the doctor's.
const checkStateName = "state-file"

// checkState looks whether the state file can be used. It makes none.
func checkState(ctx context.Context, env Env, path string) doctor.Finding {
	finding := doctor.Finding{Name: checkStateName, State: doctor.OK}
	says, err := tryState(ctx, env, path)
	if err != nil {
		finding.State, finding.Class = doctor.Failed, core.OutcomeInconclusive
		finding.Message, finding.Fix = err.Error(), "choose another file with --state"
		return finding
	}
	finding.Message = says
	return finding
}

func tryState(ctx context.Context, env Env, path string) (says string, err error) {
	exists, err := stateFileExists(path)
	switch {
	case err != nil:
		return "", err
	case !exists:
		return path + " is going to be made", tryFolder(filepath.Dir(path))
	}
	store, err := sqlstore.Open(ctx, path, env.Clock)
	if err != nil {
		return "", err
	}
	records, err := store.List(ctx)
	if err := errors.Join(err, store.Close()); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s can be used; it has %d tests", path, len(records)), nil
}

// tryFolder looks whether something can be made in the folder, or in the next one above
// that is there: by making a file and removing it.
func tryFolder(folder string) error {
	for {
		_, err := os.Stat(folder)
		if err == nil {
			break
		}
		above := filepath.Dir(folder)
		if !errors.Is(err, fs.ErrNotExist) || above == folder {
			return fmt.Errorf("the state file cannot be made: %w", err)
		}
		folder = above
	}
	file, err := os.CreateTemp(folder, ".assay-doctor-")
	if err != nil {
		return fmt.Errorf("the state file cannot be made: %w", err)
	}
	if err := errors.Join(file.Close(), os.Remove(file.Name())); err != nil {
		return fmt.Errorf("the state file cannot be made: %w", err)
	}
	return nil
}
