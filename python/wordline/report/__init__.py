"""Pages for a browser and figures as files, of one run or of several side by side."""
