#!/bin/sh
# Runs a Python script as a test, with the Python that the packages of the set-up belong to.
exec /usr/bin/python3 -B "$@"
