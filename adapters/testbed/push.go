package testbed

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coder/coder/v2/codersdk"
	"github.com/google/uuid"
)

// Pushed is a template version in the bed, its import finished.
type Pushed struct {
	TemplateID   uuid.UUID
	TemplateName string
	VersionID    uuid.UUID
	VersionName  string
	// Import is the finished import: a failed one is a result, not an error.
	Import codersdk.ProvisionerJob
}

const (
	importWait  = 5 * time.Minute
	importPause = 200 * time.Millisecond
)

// PushTemplate makes a template whose active version has the given content,
// and awaits the import. A failed import is an error here: Coder makes no
// template from it. See [Bed.PushVersion] for one that is meant to fail.
func (b *Bed) PushTemplate(ctx context.Context, name string, t Template) (Pushed, error) {
	version, err := b.importVersion(ctx, uuid.Nil, t)
	if err != nil {
		return Pushed{}, fmt.Errorf("push template %s: %w", name, err)
	}
	if version.Job.Status != codersdk.ProvisionerJobSucceeded {
		return Pushed{}, fmt.Errorf("push template %s: the import %s: %s", name, version.Job.Status, version.Job.Error)
	}
	cancelable := !t.ForbidCancel
	template, err := b.owner().CreateTemplate(ctx, b.OrganizationID, codersdk.CreateTemplateRequest{
		Name: name, VersionID: version.ID,
		AllowUserCancelWorkspaceJobs: &cancelable,
		UseClassicParameterFlow:      &t.ClassicParameters,
	})
	if err != nil {
		return Pushed{}, fmt.Errorf("push template %s: %w", name, err)
	}
	return Pushed{
		TemplateID: template.ID, TemplateName: template.Name,
		VersionID: version.ID, VersionName: version.Name, Import: version.Job,
	}, nil
}

// PushVersion adds a version to a template and awaits its import, whatever the
// result. It does not become the active version. Of the template's own
// settings (the parameter flow, whether builds may be canceled) it changes
// nothing.
func (b *Bed) PushVersion(ctx context.Context, template uuid.UUID, t Template) (Pushed, error) {
	version, err := b.importVersion(ctx, template, t)
	if err != nil {
		return Pushed{}, fmt.Errorf("push a version: %w", err)
	}
	made, err := b.owner().Template(ctx, template)
	if err != nil {
		return Pushed{}, fmt.Errorf("push a version: %w", err)
	}
	return Pushed{
		TemplateID: template, TemplateName: made.Name,
		VersionID: version.ID, VersionName: version.Name, Import: version.Job,
	}, nil
}

func (b *Bed) importVersion(ctx context.Context, template uuid.UUID, t Template) (codersdk.TemplateVersion, error) {
	file, err := b.upload(ctx, t.Files)
	if err != nil {
		return codersdk.TemplateVersion{}, err
	}
	owner := b.owner()
	version, err := owner.CreateTemplateVersion(ctx, b.OrganizationID, codersdk.CreateTemplateVersionRequest{
		TemplateID: template, FileID: file,
		StorageMethod: codersdk.ProvisionerStorageMethodFile, Provisioner: codersdk.ProvisionerTypeTerraform,
	})
	if err != nil {
		return codersdk.TemplateVersion{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, importWait)
	defer cancel()
	tick := time.NewTicker(importPause)
	defer tick.Stop()
	for version.Job.CompletedAt == nil {
		select {
		case <-ctx.Done():
			return version, fmt.Errorf("await the import: %w", ctx.Err())
		case <-tick.C:
		}
		if version, err = owner.TemplateVersion(ctx, version.ID); err != nil {
			return version, fmt.Errorf("await the import: %w", err)
		}
	}
	return version, nil
}

// uploads remembers the files that are in the bed. Coder takes twelve files a
// minute from one user, so after a refusal another template administrator goes
// on.
type uploads struct {
	mu     sync.Mutex
	known  map[[sha256.Size]byte]uuid.UUID
	client *codersdk.Client
}

func (b *Bed) upload(ctx context.Context, files map[string]string) (uuid.UUID, error) {
	archive, err := archiveOf(files)
	if err != nil {
		return uuid.Nil, err
	}
	b.uploads.mu.Lock()
	defer b.uploads.mu.Unlock()
	sum := sha256.Sum256(archive)
	if id, known := b.uploads.known[sum]; known {
		return id, nil
	}
	if b.uploads.client == nil {
		b.uploads.client = b.owner()
	}
	answer, err := b.uploads.client.Upload(ctx, codersdk.ContentTypeTar, bytes.NewReader(archive))
	if refused, ok := codersdk.AsError(err); ok && refused.StatusCode() == http.StatusTooManyRequests {
		if b.uploads.client, err = b.uploader(ctx); err != nil {
			return uuid.Nil, err
		}
		answer, err = b.uploads.client.Upload(ctx, codersdk.ContentTypeTar, bytes.NewReader(archive))
	}
	if err != nil {
		return uuid.Nil, fmt.Errorf("upload: %w", err)
	}
	if b.uploads.known == nil {
		b.uploads.known = map[[sha256.Size]byte]uuid.UUID{}
	}
	b.uploads.known[sum] = answer.ID
	return answer.ID, nil
}

func (b *Bed) uploader(ctx context.Context) (*codersdk.Client, error) {
	user, err := b.CreateUser(ctx, UserOptions{
		Name: UniqueName("uploader"), Roles: []string{codersdk.RoleTemplateAdmin}, Activate: true,
	})
	if err != nil {
		return nil, err
	}
	return b.Client(user.Token), nil
}

// archiveOf is the same for the same files.
func archiveOf(files map[string]string) ([]byte, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name]))}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write([]byte(files[name])); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return archive.Bytes(), nil
}
