"""Pulls an artifact from a registry of this machine, as any client of OCI artifacts does: pull.py REFERENCE FOLDER."""

import sys

import oras.client

reference, folder = sys.argv[1:]
for path in oras.client.OrasClient(insecure=True, tls_verify=False).pull(target=reference, outdir=folder):
    print(path)
