# A tag must be known when the version is imported, and a daemon must have it
# then. So the tag's name is a parameter: its default is a tag that every
# daemon has, another name is one that none has.

data "coder_parameter" "tag" {
  name    = "tag"
  default = "scope"
  mutable = true
}

data "coder_workspace_tags" "wanted" {
  tags = {
    (data.coder_parameter.tag.value) = "organization"
  }
}
