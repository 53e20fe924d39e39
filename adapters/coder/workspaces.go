package coder

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/coder/coder/v2/codersdk"

	"github.com/assay-dev/assay/core"
)

// listAttempts is how often a list is read that changes while its pages are.
const listAttempts = 3

func withDeleted() url.Values { return url.Values{"include_deleted": {"true"}} }

// FindWorkspace implements ports.WorkspaceReader. Coder's own lookup prefers a live
// workspace to deleted ones.
func (r *Runner) FindWorkspace(ctx context.Context, owner uuid.UUID, name string) (core.NameLookup, error) {
	const op = "find workspace"
	var found codersdk.Workspace
	path := "/users/" + owner.String() + "/workspace/" + url.PathEscape(name)
	header, err := r.get(ctx, op, path, withDeleted(), &found)
	none := hasClass(err, core.FailureNotFound)
	if err != nil && !none {
		return core.NameLookup{}, err
	}
	now, err := serverTime(op, header)
	if none || err != nil {
		return core.NameLookup{ServerTime: now}, err
	}
	if found.OwnerID != owner || !strings.EqualFold(found.Name, name) {
		return core.NameLookup{}, mismatch(op, "the answer names workspace %q of user %s, not %q of %s", found.Name, found.OwnerID, name, owner)
	}
	workspace, err := toWorkspace(op, found)
	if err != nil {
		return core.NameLookup{}, err
	}
	if workspace, err = r.settleDeleted(ctx, op, workspace); err != nil {
		return core.NameLookup{}, err
	}
	return core.NameLookup{Workspace: &workspace, ServerTime: now}, nil
}

// Workspace implements ports.WorkspaceReader. Asking for deleted ones too answers
// most questions with one request.
func (r *Runner) Workspace(ctx context.Context, id uuid.UUID) (core.Workspace, error) {
	const op = "read workspace"
	workspace, err := r.workspace(ctx, op, id, withDeleted())
	if err != nil {
		return core.Workspace{}, err
	}
	return r.settleDeleted(ctx, op, workspace)
}

func (r *Runner) workspace(ctx context.Context, op string, id uuid.UUID, query url.Values) (core.Workspace, error) {
	var found codersdk.Workspace
	if _, err := r.get(ctx, op, "/workspaces/"+id.String(), query, &found); err != nil {
		return core.Workspace{}, err
	}
	if found.ID != id {
		return core.Workspace{}, mismatch(op, "the answer names workspace %s, not %s", found.ID, id)
	}
	return toWorkspace(op, found)
}

// settleDeleted decides whether a workspace is deleted that was read with deleted
// ones included. Only a delete build that did not succeed leaves that open: Coder
// makes further delete builds for a deleted workspace. Then the plain read tells,
// with 410.
func (r *Runner) settleDeleted(ctx context.Context, op string, workspace core.Workspace) (core.Workspace, error) {
	if workspace.Deleted || workspace.Latest.Transition != core.TransitionDelete {
		return workspace, nil
	}
	live, err := r.workspace(ctx, op, workspace.ID, nil)
	if hasClass(err, core.FailureGone) {
		workspace.Deleted = true
		return workspace, nil
	}
	return live, err
}

func hasClass(err error, class core.FailureClass) bool {
	var failure *core.Failure
	return errors.As(err, &failure) && failure.Class == class
}

// Builds implements ports.WorkspaceReader. Coder lists the newest first, so a build
// that is added between two pages makes them repeat builds, never miss one.
func (r *Runner) Builds(ctx context.Context, workspace uuid.UUID) ([]core.Build, error) {
	const op = "list builds"
	path := "/workspaces/" + workspace.String() + "/builds"
	byNumber := make(map[int]core.Build)
	first := false
	for offset := 0; !first; {
		var page []codersdk.WorkspaceBuild
		if _, err := r.get(ctx, op, path, pageOf(offset, r.pageSize), &page); err != nil {
			return nil, err
		}
		if len(page) == 0 {
			return nil, mismatch(op, "coder lists no first build of workspace %s", workspace)
		}
		offset += len(page)
		for _, found := range page {
			build, err := toBuild(op, workspace, found)
			if err != nil {
				return nil, err
			}
			byNumber[build.Number] = build
			first = first || build.Number == 1
		}
	}
	builds := slices.Collect(maps.Values(byNumber))
	slices.SortFunc(builds, func(a, b core.Build) int { return cmp.Compare(a.Number, b.Number) })
	return builds, nil
}

func pageOf(offset, limit int) url.Values {
	return url.Values{"offset": {strconv.Itoa(offset)}, "limit": {strconv.Itoa(limit)}}
}

// OwnedWorkspaces implements ports.WorkspaceReader. Coder sorts by what changes, so
// one that moves between two pages can be missed: the list counts only if it is as
// long as Coder says.
func (r *Runner) OwnedWorkspaces(ctx context.Context, owner core.User) ([]core.Workspace, error) {
	const op = "list owner's workspaces"
	for range listAttempts {
		list, whole, err := r.ownedOnce(ctx, op, owner)
		if err != nil || whole {
			return list, err
		}
	}
	return nil, &core.Failure{Class: core.FailureUnavailable, Op: op, Message: "the list changes while its pages are read"}
}

// ownedOnce reads all pages and reports whether they hold every workspace.
func (r *Runner) ownedOnce(ctx context.Context, op string, owner core.User) ([]core.Workspace, bool, error) {
	var list []core.Workspace
	seen := make(map[uuid.UUID]bool)
	for offset := 0; ; {
		query := pageOf(offset, r.pageSize)
		query.Set("q", "owner:"+owner.Username)
		var page codersdk.WorkspacesResponse
		if _, err := r.get(ctx, op, "/workspaces", query, &page); err != nil {
			return nil, false, err
		}
		for _, found := range page.Workspaces {
			if found.OwnerID != owner.ID {
				return nil, false, mismatch(op, "the list names workspace %s of user %s, not of %s", found.ID, found.OwnerID, owner.ID)
			}
			workspace, err := toWorkspace(op, found)
			if err != nil {
				return nil, false, err
			}
			if !seen[workspace.ID] {
				seen[workspace.ID] = true
				list = append(list, workspace)
			}
		}
		offset += len(page.Workspaces)
		if len(page.Workspaces) == 0 || offset >= page.Count {
			return list, len(list) == page.Count, nil
		}
	}
}

// MayReadWorkspaces implements ports.WorkspaceReader.
func (r *Runner) MayReadWorkspaces(ctx context.Context, owner, organization uuid.UUID) (bool, error) {
	checks := make(map[string]codersdk.AuthorizationCheck)
	for _, resource := range []codersdk.RBACResource{codersdk.ResourceWorkspace, codersdk.ResourceWorkspaceDormant} {
		checks[string(resource)] = codersdk.AuthorizationCheck{
			Action: codersdk.ActionRead,
			Object: codersdk.AuthorizationObject{
				ResourceType: resource, OwnerID: owner.String(), OrganizationID: organization.String(),
			},
		}
	}
	var granted codersdk.AuthorizationResponse
	err := r.ask(ctx, "check access to workspaces", "/authcheck", codersdk.AuthorizationRequest{Checks: checks}, &granted)
	if err != nil {
		return false, err
	}
	for check := range checks {
		if !granted[check] {
			return false, nil
		}
	}
	return true, nil
}
