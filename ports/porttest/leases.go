package porttest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// LeasesFixture is a store without leases, and its clock.
type LeasesFixture struct {
	Leases ports.Leases
	// Now reads the store's clock, and Advance moves it.
	Now     func() time.Time
	Advance func(d time.Duration)
}

// Leases shows that the store which open makes keeps the contract of ports.Leases. Each
// row gets an empty one.
func Leases(t *testing.T, open func(t *testing.T) LeasesFixture) {
	t.Helper()
	for _, row := range leaseRows {
		t.Run(row.name, func(t *testing.T) {
			t.Logf("contract: %s", row.contract)
			row.run(t, leaseStage{T: t, LeasesFixture: open(t), test: uuid.New()})
		})
	}
}

// leaseStage is a store of leases and a test that two processes are after.
type leaseStage struct {
	*testing.T
	LeasesFixture
	test uuid.UUID
}

// take takes the test's lease for a minute and returns the one that stands.
func (s leaseStage) take(holder string, seen core.Lease, taken bool) core.Lease {
	s.Helper()
	want := core.Lease{Test: s.test, Holder: holder, Until: s.Now().Add(time.Minute)}
	standing, err := s.Leases.TakeLease(s.Context(), want, seen)
	switch {
	case taken && err != nil:
		s.Fatalf("%s takes the lease: %v", holder, err)
	case !taken && !errors.Is(err, ports.ErrLeased):
		s.Fatalf("%s takes the lease: error is %v, want ErrLeased", holder, err)
	case taken && standing.Holder != holder:
		s.Errorf("%s took the lease, and the one that stands is %s's", holder, standing.Holder)
	}
	return standing
}

// want fails unless these leases stand.
func (s leaseStage) want(leases ...core.Lease) {
	s.Helper()
	got := must(s.Leases.ListLeases(s.Context()))(s.T)
	byTest := cmpopts.SortSlices(func(a, b core.Lease) bool { return a.Test.String() < b.Test.String() })
	if diff := cmp.Diff(leases, got, byTest, cmpopts.EquateEmpty(), cmpopts.EquateApproxTime(time.Microsecond)); diff != "" {
		s.Errorf("leases differ (-want +got):\n%s", diff)
	}
}

var leaseRows = []struct {
	name, contract string
	run            func(t *testing.T, s leaseStage)
}{
	{"take", "a test without a lease is taken", func(_ *testing.T, s leaseStage) {
		s.want(s.take("one", core.Lease{}, true))
	}},
	{"another holder's", "ErrLeased comes with the lease that stands, and nothing is stored", func(t *testing.T, s leaseStage) {
		first := s.take("one", core.Lease{}, true)
		s.Advance(time.Second)
		if standing := s.take("two", core.Lease{}, false); standing != first {
			t.Errorf("the lease that stands is %+v, want %+v", standing, first)
		}
		s.want(first)
	}},
	{"again", "the same holder's lease is taken anew", func(t *testing.T, s leaseStage) {
		first := s.take("one", core.Lease{}, true)
		s.Advance(time.Second)
		if second := s.take("one", core.Lease{}, true); !second.Until.After(first.Until) {
			t.Errorf("the lease ends %v, want later than %v", second.Until, first.Until)
		}
	}},
	{"ended", "a lease that has ended is anybody's, from the moment at which it ends", func(_ *testing.T, s leaseStage) {
		s.take("one", core.Lease{}, true)
		s.Advance(time.Minute - time.Microsecond)
		s.take("two", core.Lease{}, false)
		s.Advance(time.Microsecond)
		s.want()
		s.want(s.take("two", core.Lease{}, true))
	}},
	{"seen", "a lease that was watched and not renewed is taken, whatever the clock says", func(_ *testing.T, s leaseStage) {
		first := s.take("one", core.Lease{}, true)
		s.want(s.take("two", first, true))
	}},
	{"seen, then renewed", "a lease that was renewed meanwhile stays", func(t *testing.T, s leaseStage) {
		first := s.take("one", core.Lease{}, true)
		s.Advance(time.Second)
		must(s.Leases.RenewLeases(t.Context(), "one", s.Now().Add(time.Minute)))(t)
		s.take("two", first, false)
	}},
	{"seen of another holder", "only exactly the lease that was seen is taken", func(_ *testing.T, s leaseStage) {
		first := s.take("one", core.Lease{}, true)
		first.Holder = "three"
		s.take("two", first, false)
	}},
	{"renew", "every lease of the holder, ended ones included, and nobody else's", func(t *testing.T, s leaseStage) {
		s.take("one", core.Lease{}, true)
		other := s
		other.test = uuid.New()
		s.Advance(2 * time.Minute)
		theirs := other.take("two", core.Lease{}, true)
		until := s.Now().Add(time.Hour)
		renewed := must(s.Leases.RenewLeases(t.Context(), "one", until))(t)
		if len(renewed) != 1 || renewed[0] != s.test {
			t.Errorf("renewed %v, want %s alone", renewed, s.test)
		}
		s.want(core.Lease{Test: s.test, Holder: "one", Until: until}, theirs)
	}},
	{"renew nothing", "a holder without leases is no error", func(t *testing.T, s leaseStage) {
		if renewed := must(s.Leases.RenewLeases(t.Context(), "one", s.Now()))(t); len(renewed) != 0 {
			t.Errorf("renewed %v, want nothing", renewed)
		}
	}},
	{"renew after somebody took it", "what another holder took is lost", func(t *testing.T, s leaseStage) {
		first := s.take("one", core.Lease{}, true)
		s.take("two", first, true)
		if renewed := must(s.Leases.RenewLeases(t.Context(), "one", s.Now().Add(time.Hour)))(t); len(renewed) != 0 {
			t.Errorf("renewed %v, want nothing", renewed)
		}
	}},
	{"release", "a released test is anybody's", func(t *testing.T, s leaseStage) {
		s.take("one", core.Lease{}, true)
		if err := s.Leases.ReleaseLeases(t.Context(), "one", s.test, uuid.New()); err != nil {
			t.Errorf("release: %v", err)
		}
		s.want()
		s.take("two", core.Lease{}, true)
	}},
	{"release another holder's", "another holder's lease stays", func(t *testing.T, s leaseStage) {
		first := s.take("one", core.Lease{}, true)
		if err := s.Leases.ReleaseLeases(t.Context(), "two", s.test); err != nil {
			t.Errorf("release: %v", err)
		}
		s.want(first)
	}},
}
