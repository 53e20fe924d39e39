# project has no default, so it is required. outcome changes the result.

data "coder_parameter" "project" {
  name    = "project"
  mutable = true
}

data "coder_parameter" "outcome" {
  name    = "outcome"
  default = "pass"
  mutable = true
  option {
    name  = "pass"
    value = "pass"
  }
  option {
    name  = "the startup script fails"
    value = "startup-fails"
  }
  option {
    name  = "the build fails"
    value = "build-fails"
  }
}

data "coder_parameter" "size" {
  name    = "size"
  type    = "number"
  default = 2
  mutable = true
  validation {
    min = 1
    max = 5
  }
}

data "coder_parameter" "color" {
  name    = "color"
  default = "blue"
  mutable = true
  validation {
    regex = "^[a-z]+$"
    error = "lower-case letters only"
  }
}

data "coder_parameter" "debug" {
  name    = "debug"
  type    = "bool"
  default = false
  mutable = true
}

locals {
  startup_script = data.coder_parameter.outcome.value == "startup-fails" ? "exit 1" : "true"
}

resource "terraform_data" "outcome" {
  count = data.coder_workspace.me.start_count

  provisioner "local-exec" {
    command = "echo \"assay: $PROJECT $SIZE $COLOR\"; test \"$OUTCOME\" != build-fails"
    environment = {
      PROJECT = data.coder_parameter.project.value
      OUTCOME = data.coder_parameter.outcome.value
      SIZE    = data.coder_parameter.size.value
      COLOR   = data.coder_parameter.color.value
    }
  }
}
