package core

// VersionJob is what the import of a template version asked of its provisioner. The builds
// of the version ask for the same tags, and for those that the template computes.
type VersionJob struct {
	Status JobStatus
	Tags   map[string]string
	// Matched is how many provisioner daemons could take the import, Available how many of
	// them were seen lately; -1 when Coder does not tell, as for an import that is not
	// pending.
	Matched, Available int
}

// Statuses of a provisioner daemon.
const (
	ProvisionerIdle    = "idle"
	ProvisionerBusy    = "busy"
	ProvisionerOffline = "offline"
)

// Provisioner is a provisioner daemon of an organization.
type Provisioner struct {
	Name string
	// Status is ProvisionerIdle, ProvisionerBusy or ProvisionerOffline.
	Status string
}

// Quota is what workspaces may cost a user in an organization.
type Quota struct {
	Consumed int
	// Budget is what the user may consume; less than 0 for no bound.
	Budget int
}
