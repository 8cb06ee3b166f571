"""Runs services in a process: adapters, context, health, logs, tracing, shutdown."""
