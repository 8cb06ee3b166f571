"""Tables for `kubectl get`: columns and rows of each kind."""
