data "coder_provisioner" "me" {}

resource "coder_agent" "main" {
  os                 = data.coder_provisioner.me.os
  arch               = data.coder_provisioner.me.arch
  connection_timeout = 1
}

resource "terraform_data" "nothing" {
  count = data.coder_workspace.me.start_count
  input = coder_agent.main.id
}
