# full_disk.sh BLOCKS COMMAND...: no file of the command grows beyond this many KiB; writing further is an error, as on a full disk.
trap '' XFSZ
ulimit -f "$1"
shift
"$@"
