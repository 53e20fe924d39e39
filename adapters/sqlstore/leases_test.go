package sqlstore_test

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/ports"
	"github.com/assay-dev/assay/ports/porttest"
)

func TestContractOfLeases(t *testing.T) {
	porttest.Leases(t, func(t *testing.T) porttest.LeasesFixture {
		virtual := clock.New(start)
		return porttest.LeasesFixture{
			Leases: open(t, filepath.Join(t.TempDir(), "assay.db"), virtual), Now: virtual.Now, Advance: virtual.Advance,
		}
	})
}

func TestOneOfManyProcessesTakesTheLease(t *testing.T) {
	path := filepath.Join(t.TempDir(), "assay.db")
	virtual := clock.New(start)
	test := uuid.New()
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		taken []string
	)
	for _, holder := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		store := open(t, path, virtual)
		group.Go(func() {
			_, err := store.TakeLease(t.Context(), core.Lease{Test: test, Holder: holder, Until: start.Add(time.Minute)}, core.Lease{})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				taken = append(taken, holder)
			case !errors.Is(err, ports.ErrLeased):
				t.Errorf("%s: error is %v, want ErrLeased", holder, err)
			}
		})
	}
	group.Wait()
	if len(taken) != 1 {
		t.Errorf("%v took the lease, want exactly one", taken)
	}
}

func TestLeasesOfVanishedTestsVanish(t *testing.T) {
	virtual := clock.New(start)
	store := open(t, filepath.Join(t.TempDir(), "assay.db"), virtual)
	record, err := store.Create(t.Context(), porttest.NewRecord())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []uuid.UUID{record.ID, uuid.New()} {
		_, err := store.TakeLease(t.Context(), core.Lease{Test: test, Holder: "killed", Until: start.Add(time.Minute)}, core.Lease{})
		if err != nil {
			t.Fatal(err)
		}
	}
	virtual.Advance(2 * time.Hour)
	_, err = store.TakeLease(t.Context(), core.Lease{Test: uuid.New(), Holder: "alive", Until: start.Add(3 * time.Hour)}, core.Lease{})
	if err != nil {
		t.Fatal(err)
	}
	var left int
	if err := store.DB().QueryRow(`SELECT count(*) FROM leases WHERE holder = 'killed'`).Scan(&left); err != nil || left != 1 {
		t.Errorf("%d leases of the killed process are left (error %v), want that of the test that still exists", left, err)
	}
}

func TestControlPlanes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "assay.db")
	store := open(t, path, clock.New(start))
	plane := core.ControlPlane{
		Ref: "cli-1", State: core.ControlPlaneUsable,
		Policy: core.Policy{OwnerUserID: uuid.NewString(), AllowRetain: true, AllowPrivilegedOwner: true, AllowPersonalOwner: true},
		Connection: core.Connection{
			URL: "https://coder.example.com", Token: core.NewSecret("the-token"), CACertificates: "PEM",
		},
	}
	if err := store.PutControlPlane(t.Context(), plane); err != nil {
		t.Fatal(err)
	}
	got, err := open(t, path, clock.New(start)).ControlPlane(t.Context(), plane.Ref)
	if err != nil {
		t.Fatal(err)
	}
	want := plane
	want.State, want.Connection.Token = core.ControlPlaneNoAccess, core.Secret{}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(core.Secret{})); diff != "" {
		t.Errorf("the control plane differs (-want +got):\n%s", diff)
	}
	requireNowhere(t, path, "the-token")

	plane.Connection.URL = "https://other.example.com"
	if err := store.PutControlPlane(t.Context(), plane); err != nil {
		t.Errorf("store it again: %v", err)
	}
	if got, err = store.ControlPlane(t.Context(), plane.Ref); err != nil || got.Connection.URL != plane.Connection.URL {
		t.Errorf("address %q, error %v; want the new one", got.Connection.URL, err)
	}
	if _, err := store.ControlPlane(t.Context(), "other"); !errors.Is(err, ports.ErrNotFound) {
		t.Errorf("error is %v, want ErrNotFound", err)
	}
}
