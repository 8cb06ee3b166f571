"""vc_job_controller."""
