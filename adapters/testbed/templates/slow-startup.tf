locals {
  startup_script = "sleep ${data.coder_parameter.seconds.value}"
}
