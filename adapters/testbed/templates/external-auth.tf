data "coder_external_auth" "needed" {
  id = "assay"
}
