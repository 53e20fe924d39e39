package testbed

import (
	"errors"
	"net/url"
	"os/user"
	"testing"
	"testing/fstest"

	"github.com/assay-dev/assay/adapters/testbed/internal/supervise"
)

// disk is a file system with PostgreSQL's programs in the given folders.
func disk(folders ...string) fstest.MapFS {
	files := fstest.MapFS{}
	for _, folder := range folders {
		files[folder+"/initdb"] = &fstest.MapFile{Mode: 0o755}
		files[folder+"/postgres"] = &fstest.MapFile{Mode: 0o755}
	}
	return files
}

func TestFindPostgres(t *testing.T) {
	const debian = "usr/lib/postgresql/"
	half := disk(debian + "15/bin")
	delete(half, debian+"15/bin/postgres")
	for _, row := range []struct {
		why     string
		disk    fstest.MapFS
		env     map[string]string
		want    string
		wantErr string
	}{
		{"the variable wins", disk("opt/pg", debian+"15/bin"), map[string]string{"ASSAY_TESTBED_POSTGRES_BIN": "/opt/pg"}, "/opt/pg", ""},
		{
			"a wrong variable is an error", disk(debian + "15/bin"),
			map[string]string{"ASSAY_TESTBED_POSTGRES_BIN": "/opt/pg"},
			"", "no initdb and postgres in /opt/pg",
		},
		{"the newest version counts as a number", disk(debian+"9.6/bin", debian+"15/bin", debian+"100/bin"), nil, "/" + debian + "100/bin", ""},
		{"a version that Coder refuses is left alone", disk(debian + "12/bin"), nil, "", "apt-get install postgresql"},
		{"a client package has no server", half, nil, "", "apt-get install postgresql"},
		{"PATH comes last", disk("usr/local/bin"), map[string]string{"PATH": "/bin:bin:/usr/local/bin"}, "/usr/local/bin", ""},
		{"nothing found", disk(), nil, "", "ASSAY_TESTBED_POSTGRES_BIN"},
	} {
		t.Run(row.why, func(t *testing.T) {
			got, err := findPostgres(env(row.env), row.disk)
			if got != row.want || !saysWhy(err, row.wantErr) {
				t.Errorf("got %q, %v; want %q, %q", got, err, row.want, row.wantErr)
			}
		})
	}
}

func TestUnprivileged(t *testing.T) {
	accounts := func(known map[string]*user.User) func(string) (*user.User, error) {
		return func(name string) (*user.User, error) {
			if u := known[name]; u != nil {
				return u, nil
			}
			return nil, errors.New("no such user")
		}
	}
	postgres := &user.User{Uid: "101", Gid: "102"}
	nobody := &user.User{Uid: "65534", Gid: "65534"}
	for _, row := range []struct {
		why     string
		uid     int
		known   map[string]*user.User
		want    *supervise.User
		wantErr string
	}{
		{"anybody but root stays", 1000, nil, nil, ""},
		{"root becomes postgres", 0, map[string]*user.User{"postgres": postgres, "nobody": nobody}, &supervise.User{UID: 101, GID: 102}, ""},
		{"else nobody", 0, map[string]*user.User{"nobody": nobody}, &supervise.User{UID: 65534, GID: 65534}, ""},
		{"never root under another name", 0, map[string]*user.User{"postgres": {Uid: "0", Gid: "0"}}, nil, "refuses to run as root"},
	} {
		t.Run(row.why, func(t *testing.T) {
			got, err := unprivileged(row.uid, accounts(row.known))
			if !saysWhy(err, row.wantErr) || (got == nil) != (row.want == nil) || got != nil && *got != *row.want {
				t.Errorf("got %v, %v; want %v, %q", got, err, row.want, row.wantErr)
			}
		})
	}
}

func TestPostgresURL(t *testing.T) {
	p := &postgres{sockets: "/tmp/some folder"}
	got, err := url.Parse(p.url("coder"))
	if err != nil {
		t.Fatal(err)
	}
	if got.Host != "" || got.Path != "/coder" || got.Query().Get("host") != "/tmp/some folder" || got.User.Username() != "postgres" {
		t.Errorf("got %s", got)
	}
}
