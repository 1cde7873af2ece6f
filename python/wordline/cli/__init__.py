"""The command line: what to type, what several commands share, and the process that carries it out."""
