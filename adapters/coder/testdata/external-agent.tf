data "coder_provisioner" "me" {}

resource "coder_agent" "main" {
  os   = data.coder_provisioner.me.os
  arch = data.coder_provisioner.me.arch
}

resource "coder_external_agent" "main" {
  count    = data.coder_workspace.me.start_count
  agent_id = coder_agent.main.id
}
