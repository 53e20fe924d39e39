# The tag's name is the parameter: every daemon has the tag of the default.

data "coder_parameter" "pool" {
  name    = "pool"
  default = "scope"
  mutable = true
}

data "coder_workspace_tags" "wanted" {
  tags = {
    (data.coder_parameter.pool.value) = "organization"
  }
}
