#!/bin/sh
# Installs what is missing of the packages that boxes need: the machine is reached over the network only for that.
set -eu
missing=
for package in @PACKAGES@; do
	dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -z "$missing" ] && exit 0
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -y -q --no-install-recommends $missing
