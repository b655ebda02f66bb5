import type { CommandName } from '@convoy/api/contract/commands';
import { optionsDigest } from '@convoy/api/contract/options-digest';
import type { MigrationState } from '@convoy/api/contract/progress';
import { startRequestSchema } from '@convoy/api/contract/start-request';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { CommandResult, FleetCommand, InstanceReport } from '@convoy/api/fleet/fleet';
import type { TimeSource } from '@convoy/api/time/time-source';
import type { FleetSnapshot, Members } from './members.js';
import { causeOf } from './warnings.js';

/**
 * The instances that can answer a command now. The others get it from the migration's record. Instances refuse a
 * commit, which is not recorded for others, while one of the fleet is silent or missing, and name it.
 */
export function answeringIds(ids: readonly string[], { reports }: Pick<FleetSnapshot, 'reports'>): readonly string[] {
  return ids.filter((id) => {
    const seen = reports.get(id);
    return seen?.fresh === true && (seen.report.state !== 'INITIALIZING' || seen.report.failure !== null);
  });
}

/**
 * Whether the instances that cannot answer need no message: the command is recorded for them, or others refused it,
 * and what these refused they should not carry out alone.
 */
export function needNoMessage(replies: ReadonlyMap<string, CommandResult>): boolean {
  const isRefused = [...replies.values()].some((reply) => !reply.success && reply.error !== 'commandTimedOut');
  return isRefused || recordedFor(replies) !== null;
}

/**
 * The instances for which an accepted command is recorded, because none of their replies has come; null when it is not
 * recorded, since no instance accepted it, or only one of an earlier release.
 */
export function recordedFor(results: ReadonlyMap<string, CommandResult>): readonly string[] | null {
  const named = [...results.values()].flatMap((result) => (result.success ? [result.waitingFor ?? null] : []));
  const lists = named.filter((one) => one !== null);
  if (lists.length === 0) return null;
  const hasReplied = (id: string): boolean => {
    const result = results.get(id);
    return result !== undefined && (result.success || result.error !== 'commandTimedOut');
  };
  return [...new Set(lists.flat())].filter((id) => !hasReplied(id)).sort();
}

/** States of an instance that has followed a command. */
const followedIn: Readonly<Record<Exclude<CommandName, 'start'>, readonly MigrationState[]>> = {
  pause: ['PAUSED'],
  resume: ['RUNNING'],
  commit: ['COMMITTING', 'COMMITTED'],
  reverse: ['REVERSING'],
};

/** Whether an instance takes part in a migration that goes on: after its end, a start is another one. */
function isUnderWay({ state, failure }: InstanceReport): boolean {
  return failure === null && state !== 'COMMITTED';
}

/** Decides from a report whether its instance has followed a command. For a start it compares the options. */
function followedBy({ name, body }: Pick<FleetCommand, 'name' | 'body'>): (report: InstanceReport) => boolean {
  if (name !== 'start') return ({ state }) => followedIn[name].includes(state);
  const request = startRequestSchema.safeParse(body).data;
  if (request === undefined) return () => false;
  const digest = optionsDigest(request);
  return (report) => report.optionsDigest === digest && isUnderWay(report);
}

/**
 * The instances that have not followed a command yet, according to fresh reports. All of them when none is left, so
 * that each explains why it rejects the command.
 * @param last which instances accepted the opposite command so recently that their reports may be older
 */
export function withoutFollowed(
  command: Pick<FleetCommand, 'name' | 'body'>,
  ids: readonly string[],
  { reports }: Pick<FleetSnapshot, 'reports'>,
  last: Pick<LastCommands, 'isOpposite'>,
): readonly string[] {
  const hasFollowed = followedBy(command);
  const open = ids.filter((id) => {
    const seen = reports.get(id);
    return seen?.fresh !== true || last.isOpposite(id, command.name) || !hasFollowed(seen.report);
  });
  return open.length === 0 ? ids : open;
}

/** The command that undoes each command. */
const opposites: Partial<Record<CommandName, CommandName>> = {
  pause: 'resume',
  resume: 'pause',
  commit: 'reverse',
  reverse: 'commit',
};

/** The last command that each instance accepted, remembered for as long as a report may be older. */
export class LastCommands {
  readonly #byId = new Map<string, { readonly name: CommandName; readonly at_ms: number }>();

  /** @param lease_ms silence after which a report is no longer fresh */
  constructor(
    private readonly clock: TimeSource,
    private readonly lease_ms: number,
  ) {}

  /** Records the outcome of a sent command. */
  note(name: CommandName, results: ReadonlyMap<string, CommandResult>): void {
    const at_ms = this.clock.monotonic_ms();
    for (const [id, { success }] of results) if (success) this.#byId.set(id, { name, at_ms });
  }

  /** Whether the last command that the instance accepted undoes this one, and is recent. */
  isOpposite(id: string, name: CommandName): boolean {
    const last = this.#byId.get(id);
    return (
      last !== undefined && last.name === opposites[name] && this.clock.monotonic_ms() - last.at_ms <= this.lease_ms
    );
  }
}

/** @throws ConvoyError `wrongCluster` with the instances whose configured clusters differ from the rest */
export function refuseOtherClusters({ otherClustersIds }: Members): void {
  if (otherClustersIds.length === 0) return;
  const ids = otherClustersIds.join(', ');
  throw new ConvoyError(
    'wrongCluster',
    `These instances have other clusters configured than the rest: ${ids}. Nothing was sent. Configure the ` +
      'same cluster0 and cluster1 for all.',
  );
}

/**
 * @param instances the registered or expected ones
 * @param redis whether this process hears of instances, and why not
 * @throws ConvoyError `fleetIncomplete` when there are none, `redisUnavailable` when none can be heard
 */
export function refuseEmptyFleet(
  instances: readonly unknown[],
  redis: Pick<FleetSnapshot, 'isConnected' | 'whyDisconnected'>,
): void {
  if (instances.length > 0) return;
  if (!redis.isConnected)
    throw new ConvoyError('redisUnavailable', `Redis is unreachable, so no instance can be seen.${causeOf(redis)}`);
  throw new ConvoyError('fleetIncomplete', 'No instance of the fleet is registered. Start the instances first.');
}
