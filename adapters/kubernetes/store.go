package kubernetes

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// The indexes that the cache must have; see AddIndexes.
const (
	byUID       = "metadata.uid"
	byWorkspace = "status.workspaceID"
)

// AddIndexes makes the indexes that a Store's cached client looks tests up by. It is
// called before the cache is started.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for name, value := range map[string]func(*v1alpha1.CoderTemplateTest) string{
		byUID:       func(test *v1alpha1.CoderTemplateTest) string { return string(test.UID) },
		byWorkspace: func(test *v1alpha1.CoderTemplateTest) string { return test.Status.WorkspaceID },
	} {
		err := indexer.IndexField(ctx, &v1alpha1.CoderTemplateTest{}, name, func(object client.Object) []string {
			test, ok := object.(*v1alpha1.CoderTemplateTest)
			if !ok || value(test) == "" {
				return nil
			}
			return []string{value(test)}
		})
		if err != nil {
			return fmt.Errorf("index tests by %s: %w", name, err)
		}
	}
	return nil
}

// Store is a ports.WorkspaceStore over CoderTemplateTest objects.
type Store struct {
	cached client.Client
	live   client.Reader
	// namespaces are where tests are looked for; empty means everywhere.
	namespaces []string
}

var _ ports.WorkspaceStore = (*Store)(nil)

// NewStore makes a store. cached reads from a cache that has the indexes of AddIndexes
// and writes to the API server, live reads from the API server. namespaces are those
// that the operator watches; none means all.
func NewStore(cached client.Client, live client.Reader, namespaces ...string) *Store {
	return &Store{cached: cached, live: live, namespaces: namespaces}
}

// Load implements ports.WorkspaceStore. A test that the cache does not know yet does not
// exist for it: whoever is told of a test by the cache can load it.
func (s *Store) Load(ctx context.Context, id uuid.UUID, fresh ports.Freshness) (core.Record, error) {
	test, err := s.find(ctx, id)
	if err == nil && fresh == ports.Live {
		key := client.ObjectKeyFromObject(test)
		test = &v1alpha1.CoderTemplateTest{}
		err = s.live.Get(ctx, key, test)
		if err == nil && string(test.UID) != id.String() {
			err = ports.ErrNotFound
		}
	}
	if err != nil {
		return core.Record{}, fmt.Errorf("load test %s: %w", id, translate(err))
	}
	return RecordOf(test)
}

// find looks a test up in the cache.
func (s *Store) find(ctx context.Context, id uuid.UUID) (*v1alpha1.CoderTemplateTest, error) {
	var list v1alpha1.CoderTemplateTestList
	if err := s.cached.List(ctx, &list, client.MatchingFields{byUID: id.String()}); err != nil {
		return nil, err
	}
	if len(list.Items) == 0 {
		return nil, ports.ErrNotFound
	}
	return &list.Items[0], nil
}

// Save implements ports.WorkspaceStore.
func (s *Store) Save(ctx context.Context, record core.Record) (core.Record, error) {
	test, err := bare(&record)
	if err == nil {
		// The API server takes nothing but the status from it.
		test.Status = writeStatus(&record.Status)
		err = s.cached.Status().Update(ctx, test)
	}
	return s.stored(record, test, "save", err)
}

// TakeHold implements ports.WorkspaceStore.
func (s *Store) TakeHold(ctx context.Context, record core.Record) (core.Record, error) {
	return s.setHold(ctx, record, "take the hold of", func(finalizers []string) []string {
		if slices.Contains(finalizers, v1alpha1.CleanupFinalizer) {
			return finalizers
		}
		return append(finalizers, v1alpha1.CleanupFinalizer)
	})
}

// ReleaseHold implements ports.WorkspaceStore.
func (s *Store) ReleaseHold(ctx context.Context, record core.Record) (core.Record, error) {
	return s.setHold(ctx, record, "release the hold of", func(finalizers []string) []string {
		return slices.DeleteFunc(finalizers, func(f string) bool { return f == v1alpha1.CleanupFinalizer })
	})
}

// setHold changes the finalizers of the object as it is at the record's revision.
func (s *Store) setHold(
	ctx context.Context, record core.Record, what string, change func(finalizers []string) []string,
) (core.Record, error) {
	key, err := parseKey(record.Name)
	if err != nil {
		return core.Record{}, fmt.Errorf("%s test %s: %w", what, record.ID, err)
	}
	test := &v1alpha1.CoderTemplateTest{}
	err = s.live.Get(ctx, key, test)
	switch {
	case err != nil:
	case string(test.UID) != record.ID.String():
		err = ports.ErrNotFound
	case test.ResourceVersion != record.Revision:
		err = ports.ErrConflict
	default:
		before := test.DeepCopy()
		test.Finalizers = change(test.Finalizers)
		switch {
		case slices.Equal(before.Finalizers, test.Finalizers):
		case len(test.Finalizers) > len(before.Finalizers) && test.DeletionTimestamp != nil:
			err = ports.ErrConflict
		default:
			err = s.cached.Patch(ctx, test, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		}
	}
	return s.stored(record, test, what, err)
}

// stored is the result of a change.
func (s *Store) stored(record core.Record, test *v1alpha1.CoderTemplateTest, what string, err error) (core.Record, error) {
	if err != nil {
		return core.Record{}, fmt.Errorf("%s test %s: %w", what, record.ID, translate(err))
	}
	return RecordOf(test)
}

// Delete implements ports.WorkspaceStore.
func (s *Store) Delete(ctx context.Context, record core.Record) error {
	test, err := bare(&record)
	if err != nil {
		return fmt.Errorf("delete test %s: %w", record.ID, err)
	}
	stored := &v1alpha1.CoderTemplateTest{}
	err = s.live.Get(ctx, client.ObjectKeyFromObject(test), stored)
	switch {
	case apierrors.IsNotFound(err), err == nil && stored.UID != test.UID:
		return nil
	case err == nil && stored.ResourceVersion != record.Revision:
		err = ports.ErrConflict
	case err == nil && slices.Contains(stored.Finalizers, v1alpha1.CleanupFinalizer):
		err = ports.ErrHeld
	case err == nil:
		err = s.cached.Delete(ctx, test, client.Preconditions{UID: &test.UID, ResourceVersion: &record.Revision})
	}
	if err = translate(err); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete test %s: %w", record.ID, err)
	}
	return nil
}

// HolderOf implements ports.WorkspaceStore. The cache is asked first, and what it says
// is confirmed live; what it does not know is looked for in the live list.
func (s *Store) HolderOf(ctx context.Context, workspace uuid.UUID) (uuid.UUID, error) {
	holder, err := s.holder(ctx, workspace.String())
	if err != nil {
		return uuid.Nil, fmt.Errorf("find the holder of workspace %s: %w", workspace, translate(err))
	}
	return uuid.Parse(string(holder))
}

func (s *Store) holder(ctx context.Context, workspace string) (types.UID, error) {
	var known v1alpha1.CoderTemplateTestList
	if err := s.cached.List(ctx, &known, client.MatchingFields{byWorkspace: workspace}); err != nil {
		return "", err
	}
	for i := range known.Items {
		test := &v1alpha1.CoderTemplateTest{}
		err := s.live.Get(ctx, client.ObjectKeyFromObject(&known.Items[i]), test)
		if err == nil && test.Status.WorkspaceID == workspace {
			return test.UID, nil
		}
		if client.IgnoreNotFound(err) != nil {
			return "", err
		}
	}
	all, err := s.listLive(ctx)
	if err != nil {
		return "", err
	}
	for i := range all.Items {
		if all.Items[i].Status.WorkspaceID == workspace {
			return all.Items[i].UID, nil
		}
	}
	return "", ports.ErrNotFound
}

func (s *Store) listLive(ctx context.Context) (all v1alpha1.CoderTemplateTestList, err error) {
	namespaces := s.namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, namespace := range namespaces {
		var list v1alpha1.CoderTemplateTestList
		if err := s.live.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return all, err
		}
		all.Items = append(all.Items, list.Items...)
	}
	return all, nil
}

// bare is the record's object with nothing but what identifies it and its revision.
func bare(record *core.Record) (*v1alpha1.CoderTemplateTest, error) {
	key, err := parseKey(record.Name)
	if err != nil {
		return nil, err
	}
	return &v1alpha1.CoderTemplateTest{ObjectMeta: metav1.ObjectMeta{
		Namespace: key.Namespace, Name: key.Name, UID: types.UID(record.ID.String()), ResourceVersion: record.Revision,
	}}, nil
}

// translate gives an error of the API server the port's meaning too.
func translate(err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%w: %w", ports.ErrNotFound, err)
	case apierrors.IsConflict(err):
		return fmt.Errorf("%w: %w", ports.ErrConflict, err)
	default:
		return err
	}
}
