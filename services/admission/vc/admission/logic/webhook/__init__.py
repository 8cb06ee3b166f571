"""AdmissionReviews, JSON patches and webhook configurations."""
