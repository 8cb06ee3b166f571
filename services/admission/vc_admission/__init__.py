"""vc_admission."""
