resource "terraform_data" "nothing" {
  count = data.coder_workspace.me.start_count
}
