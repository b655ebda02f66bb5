import { InvalidArgumentError, type Command } from 'commander';
import { formatCount } from '../progress-view/quantity.js';
import { exitCodes } from './exit-code.js';
import { interruption } from './interruption.js';

/** About 220 MB: a copy of half a minute, and a demo of little more than a minute, on a machine with two cores that does nothing else. */
const documentsDefault = 450_000;
const shardsMax = 16;
/** Enough for every chunk of a small demo to have some. */
const documentsMin = 1_000;
const documentsMax = 3_000_000;

interface DemoFlags {
  shards: number;
  dstShards?: number;
  documents: number;
  workload: boolean;
  keep?: boolean;
}

/** Adds `convoy demo`. What it needs is loaded only when it runs: its data would fill the heap of every other process. */
export function addDemoCommand(program: Command): void {
  program
    .command('demo')
    .description('move real data between two local clusters, and compare them')
    .option('--shards <n>', 'shards of the source', wholeNumber(1, shardsMax), 2)
    .option(
      '--dst-shards <n>',
      'shards of the destination (as many as the source when left out)',
      wholeNumber(1, shardsMax),
    )
    .option(
      '--documents <n>',
      `documents to load, ${formatCount(documentsMax)} at most`,
      wholeNumber(documentsMin, documentsMax),
      documentsDefault,
    )
    .option('--no-workload', 'without writes while the data moves')
    .option('--keep', 'leave everything running at the end and print the addresses')
    .action(async ({ shards, dstShards, documents, workload, keep }: DemoFlags) => {
      const { runDemo } = await import('../demo/demo.js');
      const equal = await runDemo(
        { shards, destinationShards: dstShards ?? shards, documents, workload, keep: keep ?? false },
        interruption(),
      );
      process.exitCode = equal ? exitCodes.done : exitCodes.failed;
    });
}

function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (Number.isInteger(value) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}
