// Package managed deploys Coder for a CoderControlPlane without external: a Deployment, a
// Service, and a ServiceAccount that may make workspaces in the namespace.
//
// Everything is written by server-side apply, as [FieldManager]. So a field that the spec
// sets is repaired when somebody else changes it, one that the spec no longer sets goes,
// and what others add stays. Nothing of templateTests or operatorAccess goes into the
// objects: changing them never restarts Coder.
package managed
