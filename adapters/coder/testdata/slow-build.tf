resource "terraform_data" "slow" {
  count = data.coder_workspace.me.start_count

  provisioner "local-exec" {
    command = "exec sleep ${local.seconds}"
  }
}
