import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { root } from '../source-tree.js';
import { commandsInBlocks, commandsInText, commandsOf, type DocumentCommand } from './document-commands.js';
import { notWalked } from './not-walked.js';
import { faultOf } from './parse-command.js';
import { walk } from './walk.js';

const inBlocks = commandsInBlocks();
const inText = commandsInText();
const walked: readonly DocumentCommand[] = Object.values(walk).flat();
const asText = ({ page, command }: DocumentCommand): string => `${page}: ${command}`;

describe('commands of documents', () => {
  test('in blocks are run by e2e/document-commands.test.ts, or test/commands/not-walked.ts says why not', () => {
    const known = new Set([...walked, ...notWalked].map(asText));
    expect(inBlocks.map(asText).filter((command) => !known.has(command))).toEqual([]);
  });

  test('that are run, or have a reason, are still in the documents', () => {
    const shown = new Set([...inBlocks, ...inText].map(asText));
    expect([...walked, ...notWalked].map(asText).filter((command) => !shown.has(command))).toEqual([]);
  });

  test('that are not walked name a file that runs them', () => {
    expect(notWalked.filter(({ runBy }) => runBy !== undefined && !existsSync(join(root, runBy)))).toEqual([]);
  });

  test('in blocks and in the text have commands, options and scripts that exist', async () => {
    const faults: string[] = [];
    const pages = new Map([...inBlocks, ...inText].map(({ page, command }) => [command, page]));
    for (const [command, page] of pages) {
      const fault = await faultOf(command);
      if (fault !== undefined) faults.push(`${asText({ page, command })}: ${fault}`);
    }
    expect(faults).toEqual([]);
  });
});

test.each([
  ['convoy strat', /unknown command/],
  ['convoy start --reversable', /unknown option/],
  ['convoy commit --wait soon', /invalid/],
  ['npx @convoy/cli coordinator --redsi x', /unknown option/],
  ['source <(convoy completion csh)', /csh/],
  ['simulator --shard 2', /--shard/],
  ['npm run domo', /no script domo/],
  ['npm run soak -- --weeks 1', /no option weeks/],
])('%s is found to be wrong', async (command, fault) => {
  expect(await faultOf(command)).toMatch(fault);
});

test('a block is divided into commands, without comments', () => {
  const block = '# first\ncurl a \\\n  -d b\nfor x in 1 2; do\n  echo $x\ndone\nredis-server   # or another one\n';
  expect(commandsOf(block)).toEqual(['curl a -d b', 'for x in 1 2; do\n  echo $x\ndone', 'redis-server']);
});
