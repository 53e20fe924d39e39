// Package pipelines has the tests of what runs assay in a pipeline: the GitHub Action
// below .github/actions, the examples below docs/how-to/pipelines, and the container
// image. Each is run as its platform would, against a Coder deployment that is a fake.
package pipelines
