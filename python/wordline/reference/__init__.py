"""What there is to choose from, on the terminal and as pages: keys, policies, presets."""
