"""`python -m keras_seqzoo`, the same as `seqzoo`."""

from keras_seqzoo.cli import main

if __name__ == "__main__":
    main()
