"""A drive while it works: views of it, the desk that changes it, the page and the terminal that show it."""
