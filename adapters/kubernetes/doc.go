// Package kubernetes keeps tests as CoderTemplateTest objects and finds control planes
// as CoderControlPlane objects: the custom resource is the record, its status what the
// lifecycle writes, its finalizer the hold, its resourceVersion the revision and its
// deletion timestamp the request for deletion.
//
// A test is known to the core by its object's UID, and to people by "namespace/name",
// which is also how a control plane is referred to.
package kubernetes
