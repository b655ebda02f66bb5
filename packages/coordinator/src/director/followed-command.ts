import type { CommandName } from '@convoy/api/contract/commands';
import { optionsDigest } from '@convoy/api/contract/options-digest';
import { startRequestSchema } from '@convoy/api/contract/start-request';
import type { MigrationState } from '@convoy/api/contract/progress';
import type { CommandResult, FleetCommand, InstanceReport } from '@convoy/api/fleet/fleet';
import type { FleetSnapshot } from '../progress/members.js';
import type { TimeSource } from '@convoy/api/time/time-source';

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
