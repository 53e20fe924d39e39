package doctor

import (
	"context"
	"maps"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/ports"
)

// Question is the test that is asked about.
type Question struct {
	// Address is how messages name the deployment.
	Address string
	// OwnerName is the name of the owner, or Me; empty means Policy.OwnerUserID.
	OwnerName string
	Policy    core.Policy
	// Spec is what is tested. An empty template, and a version that selects nothing,
	// leave the checks about them out.
	Spec core.Spec
}

// Me names the token's own user.
const Me = "me"

// named reports whether the spec names a version.
func (q *Question) named() bool { return q.Spec.Version != core.VersionSelector{} }

// Seen is what was seen. The zero value of each says that it was not asked for.
type Seen struct {
	Deployment lifecycle.Result[core.Deployment]
	Operator   lifecycle.Result[core.User]
	// Access is what the token allows; about the owner's workspaces once Rights is Done.
	Access       lifecycle.Result[core.Access]
	Rights       lifecycle.Result[core.Access]
	OwnerID      lifecycle.Result[uuid.UUID]
	Owner        lifecycle.Result[core.User]
	Organization lifecycle.Result[core.Organization]
	Template     lifecycle.Result[core.Template]
	Version      lifecycle.Result[core.TemplateVersion]
	Parameters   lifecycle.Result[core.ParameterReport]
	ExternalAuth lifecycle.Result[[]core.ExternalAuth]
	VersionJob   lifecycle.Result[core.VersionJob]
	Provisioners lifecycle.Result[[]core.Provisioner]
	Quota        lifecycle.Result[core.Quota]
}

// asker asks Coder one check's questions after the other.
type asker struct {
	runner   ports.CodeRunner
	question Question
	seen     Seen
}

func answer[T any](value T, err error) lifecycle.Result[T] {
	return lifecycle.Result[T]{Done: true, Value: value, Failure: core.AsFailure(err)}
}

func askDeployment(ctx context.Context, a *asker) {
	a.seen.Deployment = answer(a.runner.Deployment(ctx))
}

func askOperator(ctx context.Context, a *asker) { a.seen.Operator = answer(a.runner.Operator(ctx)) }

func askLifetime(ctx context.Context, a *asker) {
	if reader, can := a.runner.(ports.AccessReader); can {
		a.seen.Access = answer(reader.Access(ctx, uuid.Nil))
	}
}

// askOwner finds the user's ID first, and then reads what makes it eligible.
func askOwner(ctx context.Context, a *asker) {
	policy := &a.question.Policy
	switch finder, can := a.runner.(ports.UserFinder); {
	case a.question.OwnerName == Me:
		policy.OwnerUserID = a.seen.Operator.Value.ID.String()
	case a.question.OwnerName != "" && can:
		user, err := finder.FindUser(ctx, a.question.OwnerName)
		a.seen.OwnerID = answer(user.ID, err)
		policy.OwnerUserID = user.ID.String()
	case a.question.OwnerName != "":
		policy.OwnerUserID = a.question.OwnerName
	}
	if policy.Owner() != uuid.Nil {
		a.seen.Owner = answer(a.runner.Owner(ctx, policy.Owner()))
	}
}

// askOrganization asks only for an organization that the owner is no member of.
func askOrganization(ctx context.Context, a *asker) {
	ref, err := core.ParseTemplateRef(a.question.Spec.Template)
	if err != nil {
		return
	}
	if membership, is := lifecycle.MembershipIn(&a.seen.Owner.Value, ref.Organization); is {
		a.seen.Organization = answer(core.Organization{ID: membership.OrganizationID, Name: membership.OrganizationName}, nil)
		return
	}
	a.seen.Organization = answer(a.runner.Organization(ctx, ref.Organization))
}

func askTemplate(ctx context.Context, a *asker) {
	ref, err := core.ParseTemplateRef(a.question.Spec.Template)
	if err != nil {
		return
	}
	a.seen.Template = answer(a.runner.Template(ctx, a.seen.Organization.Value.ID, ref.Template))
}

func askVersion(ctx context.Context, a *asker) {
	if a.question.named() {
		a.seen.Version = answer(lifecycle.SelectVersion(ctx, a.runner, a.question.Spec.Version, a.seen.Template.Value))
	}
}

// imported reports whether Coder knows what the version is made of.
func (seen *Seen) imported() bool { return seen.Version.Value.Import == core.JobSucceeded }

func askParameters(ctx context.Context, a *asker) {
	if !a.seen.imported() {
		return
	}
	a.seen.Parameters = answer(a.runner.CheckParameters(ctx, core.ParameterQuery{
		VersionID: a.seen.Version.Value.ID, OwnerID: a.seen.Owner.Value.ID, Classic: a.seen.Template.Value.ClassicParameters,
		Parameters: a.question.Spec.Parameters, Preset: a.question.Spec.Preset,
	}))
}

func askExternalAuth(ctx context.Context, a *asker) {
	if a.seen.imported() {
		a.seen.ExternalAuth = answer(a.runner.ExternalAuth(ctx, a.seen.Version.Value.ID, a.seen.Owner.Value.ID))
	}
}

func askRights(ctx context.Context, a *asker) {
	if reader, can := a.runner.(ports.AccessReader); can {
		a.seen.Rights = answer(reader.Access(ctx, a.seen.Owner.Value.ID))
	}
}

func askProvisioners(ctx context.Context, a *asker) {
	reader, can := a.runner.(ports.SetUpReader)
	if !can {
		return
	}
	a.seen.VersionJob = answer(reader.VersionJob(ctx, a.seen.Version.Value.ID))
	if a.seen.VersionJob.Failure != nil {
		return
	}
	tags := buildTags(a.seen.VersionJob.Value.Tags, a.seen.Owner.Value.ID)
	a.seen.Provisioners = answer(reader.Provisioners(ctx, a.seen.Template.Value.OrganizationID, tags))
}

// buildTags are what a build for the owner asks for, where the version's import asked for
// tags (Coder fact 53).
func buildTags(tags map[string]string, owner uuid.UUID) map[string]string {
	tags = maps.Clone(tags)
	if tags["scope"] == "user" {
		tags["owner"] = owner.String()
	}
	return tags
}

func askQuota(ctx context.Context, a *asker) {
	if reader, can := a.runner.(ports.SetUpReader); can {
		a.seen.Quota = answer(reader.Quota(ctx, a.seen.Organization.Value.ID, a.seen.Owner.Value.ID))
	}
}

// left is how long the token is still good for, by Coder's clock.
func left(access *core.Access, deployment *core.Deployment) time.Duration {
	return access.ExpiresAt.Sub(deployment.ServerTime)
}
