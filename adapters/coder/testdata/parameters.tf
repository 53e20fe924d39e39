# The parameters and presets of the contract suite. Under the dynamic flow the form
# decides how a value is checked, so none is named.

data "coder_parameter" "region" {
  name    = "region"
  order   = 1
  mutable = true
  option {
    name  = "Europe"
    value = "eu"
  }
  option {
    name  = "America"
    value = "us"
  }
}

data "coder_parameter" "cpus" {
  name    = "cpus"
  order   = 2
  type    = "number"
  default = 2
  mutable = true
  validation {
    min = 1
    max = 8
  }
}

data "coder_parameter" "debug" {
  name    = "debug"
  order   = 3
  type    = "bool"
  default = false
  mutable = true
}

data "coder_workspace_preset" "small" {
  name = "small"
  parameters = {
    (data.coder_parameter.region.name) = "eu"
    (data.coder_parameter.cpus.name)   = "1"
  }
}
