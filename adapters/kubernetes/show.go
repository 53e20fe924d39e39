package kubernetes

import (
	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
	"github.com/assay-dev/assay/core"
)

// StatusIn is the status that the object of a test has once this one is stored.
func StatusIn(status *core.Status) v1alpha1.CoderTemplateTestStatus { return writeStatus(status) }
