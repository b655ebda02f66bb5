#!/usr/bin/env node
import { existsSync } from 'node:fs';

if (existsSync(new URL('../dist/process.js', import.meta.url))) {
  // An older Node.js does not get as far as to read the program: it may not know its syntax.
  import('../dist/required-node.js').then(() => import('../dist/process.js'));
} else {
  console.error('The simulator is not compiled yet: run "npm run setup" in the repository first.');
  process.exitCode = 1;
}
