package testbed

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/assay-dev/assay/adapters/testbed/internal/supervise"
)

// externalAuthID is the one external authentication that the deployment
// offers. Nothing answers behind it: no user can ever have it.
const externalAuthID = "assay"

// coderServer is the server and its address.
type coderServer struct {
	server
	url string
}

// layCoder prepares the server's folders, its PATH with terraform and coder in
// front, the provider's mirror and the environment. It starts nothing.
func layCoder(ctx context.Context, s *supervise.Supervisor, files Files, database string) (*coderServer, error) {
	folder := s.Folder()
	at := func(name string) string { return filepath.Join(folder, name) }
	for _, name := range []string{"bin", "home", "tmp", "coder-cache", "coder-config"} {
		if err := os.Mkdir(at(name), 0o700); err != nil {
			return nil, err
		}
	}
	for name, program := range map[string]string{"terraform": files.Tofu, "coder": files.Coder} {
		if err := os.Symlink(program, filepath.Join(at("bin"), name)); err != nil {
			return nil, err
		}
	}
	configuration := at("terraform.rc")
	if err := layMirror(ctx, files, at("mirror"), configuration); err != nil {
		return nil, err
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	c := &coderServer{url: "http://" + address}
	c.supervisor = s
	c.ready = func(ctx context.Context) bool { return answers(ctx, http.DefaultClient, c.url+"/api/v2/buildinfo") }
	c.spec = supervise.Spec{
		Name: "coder", Path: files.Coder, Args: []string{"server"}, Dir: at("home"),
		Env: []string{
			"PATH=" + at("bin") + string(os.PathListSeparator) + os.Getenv("PATH"),
			"HOME=" + at("home"), "TMPDIR=" + at("tmp"), "TZ=UTC",
			"TF_CLI_CONFIG_FILE=" + configuration, "CHECKPOINT_DISABLE=1",
			"ASSAY_TESTBED_PIDS=" + s.PIDs(),
			"CODER_HTTP_ADDRESS=" + address, "CODER_ACCESS_URL=" + c.url,
			"CODER_PG_CONNECTION_URL=" + database,
			// By default Coder keeps a third of its ten connections; with a few tests at once it
			// makes and ends others all the time, which takes more of a small machine than the
			// builds do.
			"CODER_PG_CONN_MAX_IDLE=10",
			"CODER_CACHE_DIRECTORY=" + at("coder-cache"), "CODER_CONFIG_DIR=" + at("coder-config"),
			"CODER_TELEMETRY_ENABLE=false", "CODER_UPDATE_CHECK=false",
			"CODER_DERP_SERVER_STUN_ADDRESSES=disable",
			"CODER_ALLOW_WORKSPACE_RENAMES=true",
			"CODER_OAUTH2_GITHUB_DEFAULT_PROVIDER_ENABLE=false",
			"CODER_EXTERNAL_AUTH_0_ID=" + externalAuthID, "CODER_EXTERNAL_AUTH_0_TYPE=gitlab",
			"CODER_EXTERNAL_AUTH_0_CLIENT_ID=none", "CODER_EXTERNAL_AUTH_0_CLIENT_SECRET=none",
			"CODER_EXTERNAL_AUTH_0_AUTH_URL=" + c.url + "/none",
			"CODER_EXTERNAL_AUTH_0_TOKEN_URL=" + c.url + "/none",
			"CODER_EXTERNAL_AUTH_0_VALIDATE_URL=" + c.url + "/none",
		},
	}
	return c, nil
}

// layMirror puts the provider where terraform looks for coder/coder, and
// writes terraform's configuration: a mirror is all it may use.
func layMirror(ctx context.Context, files Files, mirror, configuration string) error {
	work := mirror + "-question"
	host, err := providerHost(ctx, files.Tofu, work)
	if err != nil {
		return fmt.Errorf("ask terraform where providers come from: %w", err)
	}
	version := strings.TrimPrefix(providerComponent.version, "v")
	folder := filepath.Join(mirror, host, "coder", "coder", version, runtime.GOOS+"_"+runtime.GOARCH)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := os.Symlink(files.Provider, filepath.Join(folder, "terraform-provider-coder_v"+version)); err != nil {
		return err
	}
	text := fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", mirror)
	return os.WriteFile(configuration, []byte(text), 0o600)
}

var providerLine = regexp.MustCompile(`provider\[([^/\]]+)/coder/coder\]`)

// providerHost asks the program which host the short name coder/coder means:
// OpenTofu and Terraform differ, and either may be in use.
func providerHost(ctx context.Context, terraform, work string) (string, error) {
	if err := os.Mkdir(work, 0o700); err != nil {
		return "", err
	}
	const question = "terraform {\n  required_providers {\n    coder = { source = \"coder/coder\" }\n  }\n}\n"
	if err := os.WriteFile(filepath.Join(work, "main.tf"), []byte(question), 0o600); err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, terraform, "providers")
	command.Dir = work
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + work, "CHECKPOINT_DISABLE=1"}
	output, err := command.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, lastLines(output, 5))
	}
	match := providerLine.FindSubmatch(output)
	if match == nil {
		return "", fmt.Errorf("no provider in its answer: %s", lastLines(output, 5))
	}
	return string(match[1]), nil
}

// freeAddress is a loopback address that nobody listened on a moment ago. It
// is chosen here because the server must know its own address before it runs.
func freeAddress(ctx context.Context) (string, error) {
	var anywhere net.ListenConfig
	listener, err := anywhere.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}
