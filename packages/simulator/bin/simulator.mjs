#!/usr/bin/env node
import { existsSync } from 'node:fs';

const program = new URL('../dist/process.js', import.meta.url);
if (existsSync(program)) {
  await import(program.href);
} else {
  console.error('The simulator is not compiled yet: run "npm run setup" in the repository first.');
  process.exitCode = 1;
}
