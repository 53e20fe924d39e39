locals {
  startup_script = "echo 'assay: the start script ran'"
}
