import { InvalidArgumentError, type Command } from 'commander';
import { countText } from '@convoy/coordinator/dashboard/views/quantity';
import { endWith, exitCodes } from './exit-code.js';
import { interruption } from './interruption.js';

/** About 220 MB. On an idle host with two cores the copy takes half a minute, and the demo little more than one. */
const documentsDefault = 450_000;
const shardsMax = 16;
/** Small enough to give every chunk of a small demo some. */
const documentsMin = 1_000;
const documentsMax = 3_000_000;

interface DemoFlags {
  shards: number;
  dstShards?: number;
  documents: number;
  workload: boolean;
  reverse?: boolean;
  keep?: boolean;
  json?: boolean;
  load?: string;
}

/** Adds `convoy demo`. It loads its modules only when it runs: their data would fill every other process's heap. */
export function addDemoCommand(program: Command): void {
  program
    .command('demo')
    .description('migrate data between two local clusters, and compare them')
    .option('--shards <n>', 'shards of the source', wholeNumber(1, shardsMax), 2)
    .option('--dst-shards <n>', 'shards of the destination (default: as the source)', wholeNumber(1, shardsMax))
    .option(
      '--documents <n>',
      `documents to load, ${countText(documentsMax)} at most`,
      wholeNumber(documentsMin, documentsMax),
      documentsDefault,
    )
    .option('--no-workload', 'without writes during the migration')
    .option('--reverse', 'swap both clusters after the commit, and commit the way back too (servers from 6.0)')
    .option('--keep', 'keep everything running and print the addresses')
    .option('--load <url>', 'only fill the cluster at this connection string, and write to it until Ctrl-C')
    .option('--json', 'print the result as JSON, and everything else to the standard error')
    .action(async (flags: DemoFlags, command: Command) => {
      const { shards, dstShards, documents, workload, reverse, keep, json, load } = flags;
      if (load !== undefined) return fill(load, documents);
      if (reverse && dstShards !== undefined && dstShards !== shards)
        command.error('error: --reverse needs as many shards on both sides: leave out --dst-shards.');
      const { runDemo } = await import('../demo/demo.js');
      const equal = await runDemo(
        {
          shards,
          destinationShards: dstShards ?? shards,
          documents,
          workload,
          reverse: reverse ?? false,
          keep: keep ?? false,
          json: json ?? false,
        },
        interruption(),
      );
      endWith(equal ? exitCodes.done : exitCodes.failed);
    });
}

/** Until Ctrl-C, which ends the writes as before a cut-over. */
async function fill(connectionString: string, documents: number): Promise<void> {
  const { fillUntil } = await import('../demo/loader.js');
  await fillUntil(
    { connectionString, documents, say: (text) => console.log(text) },
    interruption('Stopping the writers …'),
  );
}

function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (Number.isInteger(value) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}
