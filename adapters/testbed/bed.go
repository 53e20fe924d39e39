package testbed

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"github.com/coder/coder/v2/codersdk"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/testbed/internal/supervise"
)

// ErrNotOurs is the answer of a bed that another process runs to a request
// that only that process can fulfill.
var ErrNotOurs = errors.New("another process runs this test bed")

// Options say how [Start] runs a bed. The zero value is fine.
type Options struct {
	// Log receives lines about slow work; nil drops them.
	Log io.Writer
	// Files are the programs to use; the zero value asks [Binaries].
	Files Files
	// Empty leaves out the first user: the deployment is as new, and the bed
	// has neither an owner nor a token until [Bed.Adopt].
	Empty bool
}

// Bed is a Coder deployment and its first user, the site owner.
type Bed struct {
	// URL is the deployment's address. It stays the same when Coder is
	// stopped and started.
	URL string
	// OwnerID is the first user, OrganizationID the default organization.
	OwnerID        uuid.UUID
	OrganizationID uuid.UUID

	ownerToken string
	uploads    uploads

	// These are nil in a bed that another process runs.
	supervisor *supervise.Supervisor
	mu         sync.Mutex
	coder      *coderServer
}

// Start builds what is missing and runs a deployment of its own. With the
// programs in the cache it takes a few seconds. The caller closes the bed;
// what a caller leaves behind that cannot is removed all the same.
func Start(ctx context.Context, o Options) (*Bed, error) {
	if o.Files == (Files{}) {
		files, err := Binaries(ctx, o.Log)
		if err != nil {
			return nil, err
		}
		o.Files = files
	}
	supervisor, err := supervise.Start(ctx, "", os.Getenv("ASSAY_TESTBED_LOGS"))
	if err != nil {
		return nil, err
	}
	bed, err := start(ctx, supervisor, o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the test bed: %w", err), supervisor.Close())
	}
	return bed, nil
}

func start(ctx context.Context, s *supervise.Supervisor, o Options) (*Bed, error) {
	database, err := startPostgres(ctx, s, o.Files.Postgres)
	if err != nil {
		return nil, err
	}
	coder, err := layCoder(ctx, s, o.Files, database.url("postgres"))
	if err != nil {
		return nil, fmt.Errorf("prepare coder: %w", err)
	}
	if err := coder.start(ctx); err != nil {
		return nil, err
	}
	if o.Empty {
		return &Bed{URL: coder.url, supervisor: s, coder: coder}, nil
	}
	token, err := firstUser(ctx, coder.url)
	if err != nil {
		return nil, fmt.Errorf("make the first user: %w", err)
	}
	bed, err := attach(ctx, coder.url, token)
	if err != nil {
		return nil, err
	}
	bed.supervisor, bed.coder = s, coder
	return bed, os.WriteFile(bed.OwnerTokenFile(), []byte(token), 0o600)
}

// firstUser makes the site owner and returns a token of it.
func firstUser(ctx context.Context, address string) (string, error) {
	client, err := clientOf(address, "")
	if err != nil {
		return "", err
	}
	const email = "owner@assay.test"
	password := rand.Text()
	if _, err := client.CreateFirstUser(ctx, codersdk.CreateFirstUserRequest{
		Email: email, Username: "owner", Password: password,
	}); err != nil {
		return "", err
	}
	session, err := client.LoginWithPassword(ctx, codersdk.LoginWithPasswordRequest{Email: email, Password: password})
	if err != nil {
		return "", fmt.Errorf("log in: %w", err)
	}
	return session.SessionToken, nil
}

// Attach uses a bed that another process runs. Its Close leaves that alone.
func Attach(ctx context.Context, address, tokenFile string) (*Bed, error) {
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		return nil, fmt.Errorf("read the owner's token: %w", err)
	}
	return attach(ctx, address, string(token))
}

func attach(ctx context.Context, address, token string) (*Bed, error) {
	client, err := clientOf(address, token)
	if err != nil {
		return nil, err
	}
	owner, err := client.User(ctx, codersdk.Me)
	if err != nil {
		return nil, fmt.Errorf("use the test bed: %w", err)
	}
	organization, err := client.OrganizationByName(ctx, codersdk.DefaultOrganization)
	if err != nil {
		return nil, fmt.Errorf("use the test bed: %w", err)
	}
	return &Bed{URL: address, OwnerID: owner.ID, OrganizationID: organization.ID, ownerToken: token}, nil
}

// Adopt makes a token of the site owner, whom somebody else made, the owner's
// token of an empty bed.
func (b *Bed) Adopt(ctx context.Context, token string) error {
	adopted, err := attach(ctx, b.URL, token)
	if err != nil {
		return err
	}
	b.OwnerID, b.OrganizationID, b.ownerToken = adopted.OwnerID, adopted.OrganizationID, token
	return nil
}

func clientOf(address, token string) (*codersdk.Client, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("address of the test bed: %w", err)
	}
	return codersdk.New(parsed, codersdk.WithSessionToken(token)), nil
}

// OwnerToken is a session token of the site owner.
func (b *Bed) OwnerToken() string { return b.ownerToken }

// OwnerTokenFile is the file that holds the owner's token for other processes,
// or empty when another process runs the bed.
func (b *Bed) OwnerTokenFile() string {
	if b.supervisor == nil {
		return ""
	}
	return filepath.Join(b.supervisor.Folder(), "owner-token")
}

// Client is a client that acts with a token.
func (b *Bed) Client(token string) *codersdk.Client {
	client, err := clientOf(b.URL, token)
	if err != nil {
		// The address was parsed when the bed was made.
		panic(err)
	}
	return client
}

func (b *Bed) owner() *codersdk.Client { return b.Client(b.ownerToken) }

// StopCoder ends the Coder server and leaves its database, its address and the
// running agents alone. Builds that run are canceled; one that does not end in
// 20 seconds is cut off.
func (b *Bed) StopCoder(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.coder == nil {
		return ErrNotOurs
	}
	return b.coder.stop(ctx)
}

// StartCoder starts the Coder server again after [Bed.StopCoder] and returns
// when it answers.
func (b *Bed) StartCoder(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.coder == nil {
		return ErrNotOurs
	}
	if b.coder.process != nil {
		return errors.New("coder is running")
	}
	return b.coder.start(ctx)
}

// Close ends everything that the bed runs, agents included, and removes its
// files. It returns when both are done.
func (b *Bed) Close() error {
	if b.supervisor == nil {
		return nil
	}
	return b.supervisor.Close()
}
