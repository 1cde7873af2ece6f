"""What a run came to: saved results read and checked, and told in words, figures and tables on the terminal."""
