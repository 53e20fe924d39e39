data "coder_workspace_preset" "good" {
  name    = "good"
  default = true
  parameters = {
    (data.coder_parameter.project.name) = "preset"
    (data.coder_parameter.outcome.name) = "pass"
    (data.coder_parameter.size.name)    = "3"
  }
}

data "coder_workspace_preset" "bad" {
  name = "bad"
  parameters = {
    (data.coder_parameter.project.name) = "preset"
    (data.coder_parameter.outcome.name) = "build-fails"
  }
}
