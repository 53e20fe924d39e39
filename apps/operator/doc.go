// Package operator runs template tests in a cluster: it steps the engine of the core for
// each CoderTemplateTest, behind a work queue. It holds no rule of the lifecycle.
package operator
