package testbed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/user"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/assay-dev/assay/adapters/testbed/internal/supervise"
)

// oldestPostgres is the oldest major version that Coder supports.
const oldestPostgres = 13

// findPostgres finds the folder with PostgreSQL's programs: the one that the
// environment names, else the newest where Debian puts them, else one of PATH.
func findPostgres(getenv func(string) string, root fs.FS) (string, error) {
	const variable = "ASSAY_TESTBED_POSTGRES_BIN"
	if folder := getenv(variable); folder != "" {
		folder, err := filepath.Abs(folder)
		if err != nil {
			return "", fmt.Errorf("%s: %w", variable, err)
		}
		if !hasPostgres(root, folder) {
			return "", fmt.Errorf("%s: no initdb and postgres in %s", variable, folder)
		}
		return folder, nil
	}
	if folder := newestDebianPostgres(root); folder != "" {
		return folder, nil
	}
	for _, folder := range filepath.SplitList(getenv("PATH")) {
		if filepath.IsAbs(folder) && hasPostgres(root, folder) {
			return folder, nil
		}
	}
	return "", errors.New("PostgreSQL is missing: install it (apt-get install postgresql) or set " +
		variable + " to the folder with initdb and postgres")
}

func newestDebianPostgres(root fs.FS) string {
	found, _ := fs.Glob(root, "usr/lib/postgresql/*/bin")
	major := func(folder string) int {
		n, _ := strconv.Atoi(path.Base(path.Dir(folder)))
		return n
	}
	slices.SortFunc(found, func(a, b string) int { return major(b) - major(a) })
	for _, folder := range found {
		if major(folder) >= oldestPostgres && hasPostgres(root, "/"+folder) {
			return "/" + folder
		}
	}
	return ""
}

func hasPostgres(root fs.FS, folder string) bool {
	for _, program := range []string{"initdb", "postgres"} {
		name := path.Join(filepath.ToSlash(folder), program)[1:]
		if info, err := fs.Stat(root, name); err != nil || info.IsDir() {
			return false
		}
	}
	return true
}

// postgres is a running server. It listens on a Unix socket in a folder that
// only its own user and root may enter, and trusts whoever reaches that.
type postgres struct {
	sockets string
}

const postgresSuperuser = "postgres"

// startPostgres makes a cluster below the supervisor's folder and starts it.
// It gives up safety for speed: the data is thrown away with the bed.
func startPostgres(ctx context.Context, s *supervise.Supervisor, programs string) (*postgres, error) {
	account, err := unprivileged(os.Geteuid(), user.Lookup)
	if err != nil {
		return nil, err
	}
	home := filepath.Join(s.Folder(), "postgres")
	if err := os.Mkdir(home, 0o700); err != nil {
		return nil, err
	}
	if account != nil {
		if err := os.Chown(home, int(account.UID), int(account.GID)); err != nil {
			return nil, fmt.Errorf("give PostgreSQL its folder: %w", err)
		}
	}
	data := filepath.Join(home, "data")
	environment := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home, "LC_ALL=C", "TZ=UTC"}
	err = s.Run(ctx, supervise.Spec{
		Name: "initdb", Path: filepath.Join(programs, "initdb"), Dir: home, User: account, Env: environment,
		Args: []string{
			"--auth=trust", "--username=" + postgresSuperuser, "--encoding=UTF8", "--no-locale", "--no-sync",
			"--pgdata=" + data,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("make a PostgreSQL cluster: %w", err)
	}
	cluster := server{supervisor: s, spec: supervise.Spec{
		Name: "postgres", Path: filepath.Join(programs, "postgres"), Dir: home, User: account, Env: environment,
		Args: []string{
			"-D", data, "-k", home, "-c", "listen_addresses=", "-c", "max_connections=300",
			"-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "jit=off",
		},
		// A killed server leaves shared memory in the kernel; this signal
		// makes it drop everything at once but that.
		StopSignal: syscall.SIGQUIT,
	}}
	lockFile := filepath.Join(data, "postmaster.pid")
	cluster.ready = func(context.Context) bool { return acceptsConnections(lockFile) }
	if err := cluster.start(ctx); err != nil {
		return nil, err
	}
	return &postgres{sockets: home}, nil
}

// acceptsConnections reads the eighth line of the server's lock file, which is
// how pg_ctl learns the same.
func acceptsConnections(lockFile string) bool {
	text, _ := os.ReadFile(lockFile)
	lines := bytes.Split(text, []byte("\n"))
	return len(lines) >= 8 && string(bytes.TrimSpace(lines[7])) == "ready"
}

// url is the connection string of a database.
func (p *postgres) url(database string) string {
	return (&url.URL{
		Scheme: "postgres", User: url.User(postgresSuperuser), Path: "/" + database,
		RawQuery: url.Values{"host": {p.sockets}, "sslmode": {"disable"}}.Encode(),
	}).String()
}

// unprivileged is the user that PostgreSQL runs as, because it refuses root;
// nil means the caller itself.
func unprivileged(uid int, lookup func(string) (*user.User, error)) (*supervise.User, error) {
	if uid != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		account, err := lookup(name)
		if err != nil {
			continue
		}
		id, err1 := strconv.ParseUint(account.Uid, 10, 32)
		group, err2 := strconv.ParseUint(account.Gid, 10, 32)
		if err1 == nil && err2 == nil && id != 0 {
			return &supervise.User{UID: uint32(id), GID: uint32(group)}, nil
		}
	}
	return nil, errors.New("PostgreSQL refuses to run as root, and there is neither a user postgres nor nobody")
}
