# One agent, run as a process of this machine. The file beside this one says
# what its startup script does: local.startup_script.

data "coder_provisioner" "me" {}

resource "coder_agent" "main" {
  os             = data.coder_provisioner.me.os
  arch           = data.coder_provisioner.me.arch
  startup_script = local.startup_script
}

resource "terraform_data" "process" {
  count = data.coder_workspace.me.start_count

  # A destroy provisioner sees its own resource only.
  input = data.coder_workspace.me.id

  provisioner "local-exec" {
    # The agent outlives this command and lets go of its output, which the
    # command would otherwise wait for.
    command = <<-EOT
      setsid nohup coder agent >/dev/null 2>&1 </dev/null &
      echo $! >"$ASSAY_TESTBED_PIDS/${self.input}.pid"
    EOT
    environment = {
      CODER_AGENT_TOKEN                   = coder_agent.main.token
      CODER_AGENT_URL                     = data.coder_workspace.me.access_url
      CODER_AGENT_PPROF_ADDRESS           = "127.0.0.1:0"
      CODER_AGENT_PROMETHEUS_ADDRESS      = "127.0.0.1:0"
      CODER_AGENT_DEBUG_ADDRESS           = "127.0.0.1:0"
      CODER_AGENT_DEVCONTAINERS_ENABLE    = "false"
    }
  }

  provisioner "local-exec" {
    when    = destroy
    command = <<-EOT
      file="$ASSAY_TESTBED_PIDS/${self.input}.pid"
      test -f "$file" || exit 0
      pid=$(cat "$file")
      rm "$file"
      kill "$pid" || exit 0
      for try in 1 2 3 4 5 6 7 8 9 10; do
        kill -0 "$pid" || exit 0
        sleep 0.2
      done
      kill -KILL "$pid" || exit 0
    EOT
  }
}
