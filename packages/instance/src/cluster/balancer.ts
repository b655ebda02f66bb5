import { setTimeout as wait } from 'node:timers/promises';
import type { Document } from 'mongodb';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { nameMoves, type MoveUnderWay, movesUnderWay } from './moves-under-way.js';
import type { CallOptions, ClusterClient } from './node-client.js';
import { isAtLeast } from './topology.js';

/** Time that `balancerStop` may wait for the current round. */
const stop_ms = 60_000;
/** Interval between checks of a busy balancer. */
const pollDefault_ms = 500;
/** A migration of a large chunk may take this long. */
const quietLimitDefault_ms = 10 * 60_000;

/** The `_id` of the AutoMerger's setting in `config.settings`. */
const autoMergerSetting = 'automerge';

/** State of a cluster's balancer. */
export interface BalancerState {
  /** False if the balancer starts no new rounds. */
  enabled: boolean;
  /** True while a round runs, or something moves, also by hand. */
  busy: boolean;
  /** The same, but for collections and databases that move: they are followed to their new shard. */
  mustWait: boolean;
  /** What moves, as far as the servers show it. */
  moves: readonly MoveUnderWay[];
}

interface StopBalancerOptions extends CallOptions {
  /** Its state, where it was just read. */
  seen?: BalancerState | null;
  quietLimit_ms?: number;
  poll_ms?: number;
}

/** The balancer's state; null for replica sets, which have none. */
export async function readBalancer(cluster: ClusterClient, options: CallOptions): Promise<BalancerState | null> {
  if (cluster.kind !== 'sharded') return null;
  const [status, moves, runs] = await Promise.all([
    cluster.router.command('admin', { balancerStatus: 1 }, options),
    movesUnderWay(cluster, options),
    migrationRuns(cluster, options),
  ]);
  const mustEnd = moves.some(({ kind }) => kind === 'chunk' || kind === 'resharding');
  const mustWait = mustEnd || status.inBalancerRound === true || runs;
  return { enabled: status.mode !== 'off', busy: mustWait || moves.length > 0, mustWait, moves };
}

/**
 * Stops the balancer and waits until nothing moves. Collections and databases that still move after the limit are
 * followed to their new shard.
 * @returns the state before, for `restoreBalancer`; null for replica sets
 * @throws ConvoyError `balancerStillRunning` if it is still busy otherwise after the limit
 */
export async function stopBalancer(
  cluster: ClusterClient,
  options: StopBalancerOptions,
): Promise<BalancerState | null> {
  const before = options.seen === undefined ? await readBalancer(cluster, options) : options.seen;
  if (before === null || (!before.enabled && !before.busy)) return before;
  // From 7.0 on the command also turns the AutoMerger off, even if the balancer is off already.
  if (before.enabled) await cluster.router.command('admin', { balancerStop: 1 }, { ...options, maxTime_ms: stop_ms });
  const limit_ms = options.quietLimit_ms ?? quietLimitDefault_ms;
  const started_ms = performance.now();
  for (;;) {
    const now = await readBalancer(cluster, options);
    if (now !== null && !now.enabled && !now.busy) return before;
    if (performance.now() - started_ms > limit_ms) {
      if (now !== null && !now.enabled && !now.mustWait) return before;
      throw stillRunning(cluster, now);
    }
    await wait(options.poll_ms ?? pollDefault_ms, undefined, { signal: options.signal });
  }
}

/** What `restoreBalancer` needs to know of the state before. */
interface FormerBalancer extends Pick<BalancerState, 'enabled'> {
  /** True if somebody had turned the AutoMerger off, which the balancer's start turns on. */
  autoMergerOff?: boolean;
}

/** Starts the balancer again if it was on, and leaves the AutoMerger as it was. */
export async function restoreBalancer(
  cluster: ClusterClient,
  before: FormerBalancer | null,
  options: CallOptions,
): Promise<void> {
  if (before?.enabled !== true) return;
  const limited = { maxTime_ms: stop_ms, ...options };
  await cluster.router.command('admin', { balancerStart: 1 }, limited);
  if (before.autoMergerOff !== true) return;
  const off = { q: { _id: autoMergerSetting }, u: { $set: { enabled: false } }, upsert: true };
  const writeConcern = { w: 'majority' };
  await cluster.router.command('config', { update: 'settings', updates: [off], writeConcern }, limited);
}

/**
 * Whether somebody has turned the AutoMerger off (7.0). `balancerStop` turns it off and `balancerStart` on (server
 * source of 8.0.10: configsvr_control_balancer_command.cpp), so this is read before.
 */
export async function isAutoMergerOff(cluster: ClusterClient, options: CallOptions): Promise<boolean> {
  if (cluster.kind !== 'sharded' || !isAtLeast(cluster.version, 7, 0)) return false;
  const find = { find: 'settings', filter: { _id: autoMergerSetting, enabled: false }, limit: 1, singleBatch: true };
  return holdsAny(await cluster.router.command('config', find, options));
}

function stillRunning(cluster: ClusterClient, state: BalancerState | null): ConvoyError {
  const named = nameMoves(state?.moves ?? []);
  const what = state?.enabled === true ? 'was started again by another client' : 'is still migrating chunks';
  return new ConvoyError(
    'balancerStillRunning',
    `The balancer of ${cluster.name} ${what}; stop it and wait for its round to end.` +
      (named === '' ? '' : ` Under way: ${named}.`),
  );
}

/**
 * Older config servers record migrations in `migrations`; up to 5.0 they also hold a lock on their collection. 8.0 has
 * neither: `movesUnderWay` shows them.
 */
async function migrationRuns(cluster: ClusterClient, options: CallOptions): Promise<boolean> {
  const migrations = { find: 'migrations', limit: 1, singleBatch: true };
  // The balancer of 4.4 and 5.0 always holds the lock "balancer"; state 2 means that a lock is held.
  const locks = { find: 'locks', filter: { state: 2, _id: { $ne: 'balancer' } }, limit: 1, singleBatch: true };
  const replies = await Promise.all([migrations, locks].map((find) => cluster.router.command('config', find, options)));
  return replies.some(holdsAny);
}

function holdsAny({ cursor }: Document): boolean {
  return (cursor as { firstBatch: unknown[] }).firstBatch.length > 0;
}
