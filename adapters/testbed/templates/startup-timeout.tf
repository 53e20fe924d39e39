locals {
  startup_script = ""
}

resource "coder_script" "slow" {
  agent_id     = coder_agent.main.id
  display_name = "slow"
  run_on_start = true
  timeout      = 1
  script       = "exec sleep 600"

  start_blocks_login = true
}
