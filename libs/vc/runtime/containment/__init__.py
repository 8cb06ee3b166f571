"""Containment: an object or record that cannot be processed becomes a problem row."""
