"""Keys, policies and presets, on the terminal and as pages."""
