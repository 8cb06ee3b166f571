"""Rules of pods and pod templates."""
