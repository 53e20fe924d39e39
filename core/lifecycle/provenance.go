package lifecycle

import (
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// noTimeBound is for a record without a marker: there is no time to compare with.
var noTimeBound time.Time

// provenance reports whether a test with these pins made the workspace, and its
// start build (5.4). That holds when organization and template are the pinned ones
// and the first build, but for start and stop builds by Coder's prebuilds user, is
// a start build by the pinned operator user with the pinned version, not older
// than the marker. Both times are Coder's; the marker is in whole seconds, cut off.
//
// builds must be all of the workspace's, oldest first: where the first one is
// missing, nothing is proven.
func provenance(w core.Workspace, builds []core.Build, pins core.Pins, marker time.Time) (core.Build, bool) {
	if w.OrganizationID != pins.OrganizationID || w.TemplateID != pins.TemplateID || w.OwnerID != pins.OwnerID {
		return core.Build{}, false
	}
	for i, build := range builds {
		if build.Number != i+1 || build.WorkspaceID != w.ID {
			return core.Build{}, false
		}
		if build.InitiatorID == core.PrebuildsUserID &&
			(build.Transition == core.TransitionStart || build.Transition == core.TransitionStop) {
			continue
		}
		ours := build.Transition == core.TransitionStart &&
			build.InitiatorID == pins.OperatorUserID && pins.OperatorUserID != uuid.Nil &&
			build.VersionID == pins.TemplateVersionID &&
			!build.CreatedAt.Before(marker)
		return build, ours
	}
	return core.Build{}, false
}
