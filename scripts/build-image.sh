#!/bin/sh
# The build steps of the container image, as its Dockerfile runs them: in the folder of a fresh clone, compiles the command
# line and leaves only what it needs to run. A test runs it in an empty folder, where there is no container.
set -eu
npm ci
node node_modules/typescript-native/bin/tsc -b packages/cli
# What is loaded only in tests (testcontainers) or only makes things faster is optional, and left out.
npm prune --omit=dev --omit=optional
# Benchmarks and pictures of the dashboard serve development, and so does the browser.
rm -rf packages/bench node_modules/@convoy/bench packages/testbed/dist/browser
find packages -type d \( -name src -o -name test -o -name corpus \) -prune -exec rm -rf {} +
find packages -name '*.d.ts' -delete
find packages -name '*.tsbuildinfo' -delete
node packages/cli/bin/convoy.mjs --version
