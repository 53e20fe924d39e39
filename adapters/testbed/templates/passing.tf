locals {
  startup_script = "echo 'assay: ready'"
}
