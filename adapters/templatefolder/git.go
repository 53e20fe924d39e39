package templatefolder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Revision is what Git says about a folder.
type Revision struct {
	// Commit is the short name of the commit that is checked out.
	Commit string
	// Dirty tells that the folder differs from it.
	Dirty bool
	// Subject is the first line of the commit's message.
	Subject string
}

// ReadRevision asks Git about the folder. An error means that there is no Git, no
// repository or no commit.
func ReadRevision(ctx context.Context, dir string) (Revision, error) {
	commit, err := git(ctx, dir, "rev-parse", "--short", "HEAD")
	if err != nil {
		return Revision{}, err
	}
	subject, err := git(ctx, dir, "log", "-1", "--no-show-signature", "--format=%s")
	if err != nil {
		return Revision{}, err
	}
	unfiltered, err := withoutFilters(ctx, dir)
	if err != nil {
		return Revision{}, err
	}
	changes, err := git(ctx, dir, append(unfiltered, "status", "--porcelain", "--", ".")...)
	if err != nil {
		return Revision{}, err
	}
	return Revision{Commit: commit, Dirty: changes != "", Subject: subject}, nil
}

// nothing is an environment variable without a value.
const nothing = "ASSAY_GIT_NOTHING"

// withoutFilters are options that empty the filters of the repository's own configuration:
// "git status" runs them on files that seem changed. What a filter of its own would have
// made of such a file counts as a difference then. The user's own filters stay.
func withoutFilters(ctx context.Context, dir string) ([]string, error) {
	found, err := git(ctx, dir, "config", "--show-scope", "-z", "--name-only", "--get-regexp", `^filter\..*\.(clean|process|required)$`)
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.ExitCode() == 1 {
		return nil, nil // There are none.
	}
	if err != nil {
		return nil, err
	}
	var options []string
	fields := strings.Split(found, "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		if scope := fields[i]; scope == "local" || scope == "worktree" {
			// A name may hold "=", which "-c" would take for its end.
			options = append(options, "--config-env="+fields[i+1]+"="+nothing)
		}
	}
	return options, nil
}

// git runs Git in the folder. Of the configuration of the folder's repository no file
// system monitor is run, no program that checks signatures, and, withoutFilters, no
// filter; those of its submodules are. No lock is taken, and nobody is prompted.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", append([]string{"-c", "core.fsmonitor=false", "-C", dir}, args...)...)
	command.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C", nothing+"=")
	output, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(output)), nil
}
