#!/bin/sh
# What the container runs first: reads a mounted folder once, if asked, then becomes the command it was given.
#
# FIRST_INGEST       folder to read on the first start, such as /documents; unset: none
# FIRST_COLLECTION   the collection it goes to; unset: documents
set -eu

collection="${FIRST_COLLECTION:-documents}"
done_file="${ELT_LLM_DATA_DIR:?}/first-ingest-$collection"

# The file is written last: a first start that was cut off goes on at the next one.
if [ -n "${FIRST_INGEST:-}" ] && [ ! -e "$done_file" ]; then
    elt-llm ingest "$FIRST_INGEST" -c "$collection"
    : > "$done_file"
fi

exec "$@"
