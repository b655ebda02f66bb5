import { type Command, InvalidArgumentError } from 'commander';
import { Secret } from '@convoy/api/configuration/secret';
import type { Inventory } from '@convoy/api/contract/inventory';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { parseRedisSettings } from '@convoy/coordinator/config/redis-config';
import { isBeyondLocalHost, redisExposure } from '@convoy/coordinator/redis/redis-settings';
import type { InstanceConfig } from '@convoy/instance/config/instance-schema';
import { looksForProof } from '@convoy/instance/verify/compare/check-again';
import { colouredLines } from '../progress-view/colours.js';
import { type Finding, inventoryLines, preflightLines } from '../progress-view/preflight-lines.js';
import { endWith, exitCodeOf, exitCodes } from './exit-code.js';
import { interruption } from './interruption.js';
import { addNamespaceOptions } from './namespace-option.js';
import type { ProbeFlags } from './probe-cluster.js';
import { addSettings, clusterSettings, type Flags, instanceSettings, settingFlags, sourcesOf } from './settings.js';
import { addStartOptions, startBody, type StartOptions } from './start-options.js';
import type { VerifyFlags } from './verify-clusters.js';

/** Settings of an instance that the checks use. */
const { cluster0, cluster1, shards, syncUser, sourceAccess, readPreference, memoryBytesMax } = instanceSettings;
const { redis, fleetSecret } = instanceSettings;
const clientSettings = { cluster0, cluster1, shards, syncUser, sourceAccess, readPreference, memoryBytesMax };
const checkedSettings = { ...clientSettings, redis, fleetSecret };

/** Adds `convoy check`: checks whether a migration can start, without a running process. */
export function addCheckCommand(program: Command): void {
  const command = program.command('check').description('check whether a migration can start');
  addStartOptions(addSettings(command, checkedSettings))
    .option('--json', 'print the report as JSON')
    .option('--verbose', 'also list the names that a check counts, and what needs no decision')
    .action(async (options: StartOptions & Flags & { json?: boolean; verbose?: boolean }) => {
      const { parseInstanceConfig } = await import('@convoy/instance/config/instance-config');
      const { preflight } = await import('@convoy/instance/lifecycle/instance/answer-questions');
      const config = parseInstanceConfig(sourcesOf(settingFlags(options, checkedSettings)));
      const ofRedis = redisFindings(config);
      let inventory: Inventory | null = null;
      const request = parseStartRequest(startBody(options));
      const onInventory = (found: Inventory): void => void (inventory = found);
      const { canStart, items } = await preflight(config, request, interruption(), onInventory);
      const report = { canStart, items: [...items, ...ofRedis] };
      const lines = [...inventoryLines(inventory, options), ...preflightLines(report, options)];
      console.log(options.json ? JSON.stringify({ ...report, inventory }) : colouredLines(lines));
      if (!canStart) endWith(exitCodeOf(items.flatMap(({ error }) => error ?? [])));
    });
}

/**
 * What `convoy check` finds about a fleet's Redis by its settings alone: nothing connects. None for a lone instance.
 * @throws ConvoyError `invalidConfiguration` for settings that no process would accept
 */
export function redisFindings({ redis, fleetSecret }: Pick<InstanceConfig, 'redis' | 'fleetSecret'>): Finding[] {
  if (redis === undefined) return [];
  const settings = parseRedisSettings(redis instanceof Secret ? redis.reveal() : redis);
  const exposed = redisExposure(settings)[0]?.description;
  const isSigned = fleetSecret !== undefined;
  return [
    finding('redis', exposed, 'Redis has a password and TLS, or is on the local host. Whether it runs is not checked.'),
    finding(
      'fleetSecret',
      isSigned || !isBeyondLocalHost(settings) ? undefined : unsigned,
      isSigned ? 'Messages in Redis are signed.' : 'Messages in Redis are not signed; Redis is on the local host.',
    ),
  ];
}

const unsigned =
  'Messages in Redis are not signed: whoever writes to Redis can command the fleet without a token. ' +
  'Set fleetSecret, the same in all processes.';

function finding(check: string, warning: string | undefined, passed: string): Finding {
  return { check, result: warning === undefined ? 'passed' : 'warning', error: null, description: warning ?? passed };
}

/** Adds `convoy probe`: tests server behaviour that Convoy relies on, without a running process. */
export function addProbeCommand(program: Command): void {
  const command = program.command('probe').description('test server behaviour that Convoy relies on');
  addSettings(command, clusterSettings)
    .option('--cluster <cluster>', 'connection string, or cluster0 or cluster1 of the settings', 'cluster0')
    .option('--only <name...>', 'only these probes')
    .option('--allow-disturbing', 'also run probes that briefly block all user writes')
    .option('--record <file>', 'write commands and replies to a file in the corpus format')
    .option('--list', 'list the probes without running them')
    .option('--json', 'print the report as JSON')
    .action(async (flags: ProbeFlags) => {
      const { probeCluster } = await import('./probe-cluster.js');
      endWith(await probeCluster(flags));
    });
}

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
