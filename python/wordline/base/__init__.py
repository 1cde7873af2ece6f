"""What every room uses: units, errors, files, JSON, the terminal, progress, and how figures are drawn."""
