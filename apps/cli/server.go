package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/assay-dev/assay/adapters/serverclient"
	"github.com/assay-dev/assay/core"
)

// envServerToken holds the token of an assay server.
const envServerToken = "ASSAY_SERVER_TOKEN"

// serverHelp says how a command speaks to a server.
const serverHelp = `The server's token is read from --server-token-file, else ASSAY_SERVER_TOKEN; a server that
listens for its own machine alone needs none.`

// serverFlags say which assay server is meant, and as whom. Without an address none is.
type serverFlags struct {
	url, tokenFile string
	// caFile and insecureHTTP are shared with the connection to Coder where a command has
	// both.
	caFile       *string
	insecureHTTP *bool
}

// register registers the flags for a command that speaks to Coder too.
func (f *serverFlags) register(flags *pflag.FlagSet, coder *connectionFlags) {
	flags.StringVar(&f.url, "server", "", "`URL` of an assay server that is to do it, and not this process")
	flags.StringVar(&f.tokenFile, "server-token-file", "", "`FILE` that holds a token of the server")
	f.caFile, f.insecureHTTP = &coder.caFile, &coder.insecureHTTP
}

// registerAlone registers the flags for a command that speaks to no Coder.
func (f *serverFlags) registerAlone(flags *pflag.FlagSet) {
	f.register(flags, &connectionFlags{})
	flags.StringVar(f.caFile, "ca-file", "", "`FILE` with further certificate authorities in PEM")
	flags.BoolVar(f.insecureHTTP, "insecure-http", false, "allow http:// to other hosts than this one; the token travels in plain text")
}

// notices is where it is told that the server does not answer. Once lines are redrawn there,
// that is between them.
type notices struct {
	mu  sync.Mutex
	out io.Writer
}

func (n *notices) to(out io.Writer) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.out = out
}

func (n *notices) retrying(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	fmt.Fprintf(n.out, "the server does not answer, it is asked again for up to %v: %v\n", serverclient.DefaultPatience, err)
}

// serverConnection is a server with what commands need beside it.
type serverConnection struct {
	*serverclient.Server
	url     string
	token   core.Secret
	notices *notices
}

// connect makes the server's client. It asks nobody. Every error is a usage error and holds
// no token.
func (f *serverFlags) connect(env Env) (*serverConnection, error) {
	token := core.NewSecret(strings.TrimSpace(env.lookup(envServerToken)))
	from := envServerToken
	if f.tokenFile != "" {
		content, err := os.ReadFile(f.tokenFile)
		if err != nil {
			return nil, usage("--server-token-file: %w: name a file that holds a token of the server", err)
		}
		token, from = core.NewSecret(strings.TrimSpace(string(content))), "--server-token-file"
		if token.Reveal() == "" {
			return nil, usage("--server-token-file: %s is empty: put a token of the server into it", f.tokenFile)
		}
	}
	if strings.ContainsFunc(token.Reveal(), func(c rune) bool { return c <= ' ' || c > '~' }) {
		return nil, usage("%s: is no token: it holds a space, a line break or another character that no token has", from)
	}
	authorities := ""
	if *f.caFile != "" {
		pem, err := os.ReadFile(*f.caFile)
		if err != nil {
			return nil, usage("--ca-file: %w", err)
		}
		authorities = string(pem)
	}
	told := &notices{out: env.Stderr}
	server, err := serverclient.New(serverclient.Config{
		URL: f.url, Token: token, CACertificates: authorities, AllowClearText: *f.insecureHTTP, Retrying: told.retrying, Clock: env.Clock,
	})
	if err != nil {
		return nil, usage("--server: %w", err)
	}
	return &serverConnection{server, f.url, token, told}, nil
}

// refuseLocal refuses flags that say how this process would do what a server is to do.
func (f *serverFlags) refuseLocal(flags *pflag.FlagSet, names ...string) error {
	for _, name := range names {
		if flags.Changed(name) {
			return usage("--%s: is for what this process does itself: leave it out with --server", name)
		}
	}
	return nil
}

// serverError is an error of a server before a test exists.
func serverError(err error) error {
	var refused *serverclient.Error
	if !errors.As(err, &refused) {
		return failure(fmt.Errorf("--server: %w", err))
	}
	switch refused.Status {
	case 401:
		return usage("--server: the server does not know the token, or it is over: give another one with --server-token-file or %s", envServerToken)
	case 404:
		return usage("--server: %w: check the address, which is that of the page", err)
	default:
		return failure(fmt.Errorf("--server: %w", err))
	}
}

// planeToTestOn is the server's control plane of the name, or the only one that the caller
// may test on where none is named.
func planeToTestOn(ctx context.Context, server *serverConnection, name string) (string, error) {
	planes, err := server.ControlPlanes(ctx)
	if err != nil {
		return "", serverError(err)
	}
	var names []string
	for _, plane := range planes {
		if plane.Role != serverclient.Viewer && plane.State != serverclient.Removed {
			names = append(names, plane.Name)
		}
	}
	slices.Sort(names)
	switch {
	case len(names) == 0:
		return "", usage("--server: there is no control plane on which the token may test: ask whoever runs the server for the role tester")
	case name == "" && len(names) > 1:
		return "", usage("--control-plane: name one of %s", strings.Join(names, ", "))
	case name == "":
		return names[0], nil
	case !slices.Contains(names, name):
		return "", usage("--control-plane: %q: must be one of %s", name, strings.Join(names, ", "))
	}
	return name, nil
}
