// Package sweep says what became of the workspaces that tests left behind (lifecycle
// section 10). Judge is pure; Sweep gathers what it judges; Claim makes the record with
// which the ordinary lifecycle deletes a workspace. Nothing here changes anything in Coder.
package sweep
