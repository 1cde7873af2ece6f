"""``python -m wordline`` is the command ``wordline``."""

from wordline.cli import main

if __name__ == "__main__":
    main()
