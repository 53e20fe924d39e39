// Package templatefolder reads folders with Terraform templates: as the archive that Coder
// takes, and what Git says about them.
package templatefolder
