resource "terraform_data" "slow" {
  count = data.coder_workspace.me.start_count

  provisioner "local-exec" {
    command = "echo 'assay: the build waits'; exec sleep ${data.coder_parameter.seconds.value}"
  }
}
