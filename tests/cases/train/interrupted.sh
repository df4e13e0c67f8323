# interrupted.sh ARCH NAME: a run in the folder NAME that Ctrl-C ends after its first checkpoint.
rung train "$1" --task eva --n 4 --width 8 --steps 100000 --batch 8 --checkpoint-every 1 --eval-count 8 --device cpu --quiet \
  --store "$2.jsonl" --out "$2" > "$2.out" 2> "$2.err" &
until test -e "$2/checkpoint-0.safetensors" || ! kill -0 $!; do sleep 0.02; done
kill -INT $!
wait $!
echo "exit $?"
