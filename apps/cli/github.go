package cli

import (
	"fmt"

	"github.com/google/uuid"
)

// envGitHub is "true" in a step of GitHub Actions.
const envGitHub = "GITHUB_ACTIONS"

// obeyNothing has GitHub's runner obey no command in the output of this step until the
// function that it returns is called: the logs of templates are shown, and may say
// anything. Calling that again does nothing, and elsewhere nothing is written.
func obeyNothing(env Env) (obeyAgain func(), err error) {
	if env.lookup(envGitHub) != "true" {
		return func() {}, nil
	}
	// What a template does not know it cannot print.
	word, err := uuid.NewRandomFromReader(env.Random)
	if err != nil {
		return nil, failure(fmt.Errorf("nothing was started: %w", err))
	}
	fmt.Fprintf(env.Stderr, "::stop-commands::%s\n", word)
	done := false
	return func() {
		if !done {
			done = true
			fmt.Fprintf(env.Stderr, "::%s::\n", word)
		}
	}, nil
}
