"""The scheduler configuration: model, Volcano's file, arguments and action names."""
