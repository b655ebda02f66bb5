import { looksForProof } from '@convoy/instance/verify/compare/looks-for-proof';
import { InvalidArgumentError, type Command } from 'commander';
import { endWith, exitCodes } from './exit-code.js';
import { addSettings, instanceSettings } from './settings.js';
import { addNamespaceOptions } from './namespace-option.js';
import type { VerifyFlags } from './verify-clusters.js';

const { cluster0, cluster1 } = instanceSettings;

/** Two and a half times what proves a stable difference. */
const generationsDefault = 20;

/** Adds `convoy verify`: compares two live clusters, without a running process. */
export function addVerifyCommand(program: Command): void {
  const command = program.command('verify').description('compare two clusters, document by document');
  addNamespaceOptions(addSettings(command, { cluster0, cluster1 }))
    .option('--source <cluster>', 'connection string, or cluster0 or cluster1 of the settings', 'cluster0')
    .option('--destination <cluster>', 'the same of the cluster to compare with', 'cluster1')
    .option('--no-shard-keys', 'do not compare shard keys')
    .option(
      '--settle <seconds>',
      'how long both sides of a document must differ unchanged to count',
      number(0, 86_400),
      30,
    )
    .option(
      '--generations <n>',
      'maximum repeated comparisons of differing documents',
      wholeNumber(looksForProof, 1_000),
      generationsDefault,
    )
    .option('--readers <n>', 'concurrently compared ranges', wholeNumber(1, 64), 4)
    .option('--state <folder>', 'folder of the state until the end (default: in the home folder)')
    .option('--restart', 'start over, do not continue an interrupted run')
    .option('--report <file>', 'write a readable report as Markdown')
    .option('--mismatches <file>', 'write all mismatches as JSON lines')
    .option('--json', 'print progress and result as JSON lines')
    .action(async (flags: VerifyFlags) => {
      const { verify } = await import('./verify-clusters.js');
      const ended = await verify(flags);
      endWith(ended.verdict === 'equal' ? exitCodes.done : exitCodes.failed);
    });
}

function number(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== '' && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a number from ${min} to ${max}.`);
  };
}

function wholeNumber(min: number, max: number): (text: string) => number {
  const parse = number(min, max);
  return (text) => {
    const value = parse(text);
    if (Number.isInteger(value)) return value;
    throw new InvalidArgumentError('It must be a whole number.');
  };
}
