data "coder_parameter" "seconds" {
  name    = "seconds"
  type    = "number"
  default = 60
  mutable = true
}
