resource "terraform_data" "failure" {
  lifecycle {
    precondition {
      condition     = data.coder_workspace.me.name == ""
      error_message = "assay: the import gives up"
    }
  }
}
