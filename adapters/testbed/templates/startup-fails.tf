locals {
  startup_script = <<-EOT
    echo 'assay: the startup script gives up'
    exit 1
  EOT
}
