import type { commandStates, steadyLagMax_seconds } from '@convoy/api/contract/command-rules';
import type { CommandName } from '@convoy/api/contract/commands';
import type { FleetMessage } from '../message.js';
import { countText, durationText } from './quantity.js';

/** One precondition of a commit. */
export interface CheckView {
  readonly label: string;
  readonly status: 'met' | 'open' | 'unknown';
  readonly detail: string;
}

/** One button. */
export interface ActionView {
  readonly name: CommandName;
  readonly label: string;
  /** Why it is disabled; null when enabled. */
  readonly refusal: string | null;
  /** Its effect, for the confirmation. */
  readonly consequence: string;
  readonly isFinal: boolean;
}

export interface CutOverView {
  readonly checks: readonly CheckView[];
  readonly actions: readonly ActionView[];
}

/** Maximum lag for a commit, in seconds. */
const lagMax_seconds: typeof steadyLagMax_seconds = 30;

/** The state in which each command is possible. The browser loads no other package: the type keeps it equal. */
const allowed: typeof commandStates = {
  start: 'IDLE',
  pause: 'RUNNING',
  resume: 'PAUSED',
  commit: 'RUNNING',
  reverse: 'COMMITTED',
};

/**
 * The preconditions of a commit and the available commands.
 * @param noReverse why the committed migration cannot be reversed, if known
 */
export function cutOverView(
  message: FleetMessage,
  mayCommand: boolean,
  isLive: boolean,
  noReverse: string | null = null,
): CutOverView {
  const general = generalRefusal(message, mayCommand, isLive);
  const action = (name: CommandName, label: string, consequence: string, isFinal = false): ActionView => ({
    name,
    label,
    consequence,
    isFinal,
    refusal: general ?? refusalOf(name, message) ?? (name === 'reverse' ? noReverse : null),
  });
  return {
    checks: checksOf(message),
    actions: [
      action('start', 'Start', 'Checks both clusters, then copies the data to the destination.'),
      action(
        'pause',
        'Pause',
        'Every instance finishes its writes in flight and stores a checkpoint. The source’s oplog keeps ' +
          'rolling: resume before it wraps.',
      ),
      action('resume', 'Resume', 'Every instance continues from its checkpoint.'),
      action(
        'commit',
        'Commit',
        'Applies all remaining changes, finalizes indexes and options, then opens the destination for ' +
          'writes. Stop the source’s writers first, unless user write blocking is on. Only a reversible ' +
          'migration can go back.',
        true,
      ),
      action(
        'reverse',
        'Reverse',
        'Swaps source and destination: the former source then follows the new cluster. Works only for ' +
          'migrations started with reversible; otherwise nothing changes.',
        true,
      ),
    ],
  };
}

function checksOf({ instances, expectedIds, progress, failure, isConnected }: FleetMessage): CheckView[] {
  const all = Object.values(instances);
  const heard = all.filter(({ reachable }) => reachable).length;
  const wanted = Math.max(expectedIds.length, all.length);
  const lag = progress.lagTimeSeconds;
  const copied =
    progress.percent !== null &&
    progress.percent >= 100 &&
    progress.info !== 'collection copy' &&
    progress.info !== 'initializing';
  const rereads = all.reduce((sum, { stats }) => sum + (stats?.pendingRereads ?? 0), 0);
  const ready = all.filter(({ canCommit }) => canCommit).length;
  const over = progress.state === 'COMMITTED';
  return [
    check('No failure', failure === null, failure === null ? 'none' : failure.error),
    check('All instances send heartbeats', isConnected && wanted > 0 && heard === wanted, `${heard} of ${wanted}`),
    check(
      'All documents copied',
      copied,
      progress.percent === null ? 'not started' : `${progress.percent.toFixed(1)} %`,
    ),
    over || lag !== null
      ? check(`Lag at most ${lagMax_seconds} s`, over || (lag ?? 0) <= lagMax_seconds, durationText(lag ?? 0))
      : { label: `Lag at most ${lagMax_seconds} s`, status: 'unknown', detail: 'unknown' },
    {
      label: 'Documents to re-read',
      status: progress.info === null ? 'unknown' : rereads === 0 ? 'met' : 'open',
      detail: rereads === 0 ? 'none' : `${countText(rereads)}, finished by the commit`,
    },
    verifierCheck(progress),
    check(
      'All instances ready',
      over || (wanted > 0 && ready === wanted),
      over ? 'committed' : `${ready} of ${wanted}`,
    ),
    ...(progress.commitBlockers ?? []).map(({ instance, description }) =>
      check(`Commit waits for ${instance}`, false, description),
    ),
  ];
}

function check(label: string, met: boolean, detail: string): CheckView {
  return { label, status: met ? 'met' : 'open', detail };
}

function verifierCheck({ verification }: FleetMessage['progress']): CheckView {
  if (verification === null) return { label: 'Verifier', status: 'unknown', detail: 'off; use convoy verify' };
  const phase = verification.destination.phase ?? 'not started';
  return { label: 'Verifier caught up', status: phase === 'stream hashing' ? 'met' : 'open', detail: phase };
}

function generalRefusal({ isConnected, instances }: FleetMessage, mayCommand: boolean, isLive: boolean): string | null {
  if (!isLive) return 'The coordinator does not respond. This page is stale.';
  if (!mayCommand) return 'Your token is read-only.';
  if (!isConnected) return 'Redis is unreachable from the coordinator. Commands need it.';
  return Object.keys(instances).length === 0 ? 'No instance has reported yet.' : null;
}

function refusalOf(name: CommandName, { failure, progress, instances }: FleetMessage): string | null {
  const { state } = progress;
  if (failure !== null) return 'The migration has failed and accepts no commands.';
  // A command that only some instances accepted can be repeated for the rest.
  const states = Object.values(instances).map((one) => one.state ?? '');
  const isPartlyAccepted =
    isMixed(progress) && states.includes(allowed[name]) && (name !== 'commit' || states.includes('COMMITTING'));
  if (isPartlyAccepted) return null;
  if (state !== allowed[name]) return `Only in ${allowed[name]}; the fleet is ${state}.`;
  if (name === 'commit' && !progress.canCommit) return 'A commit is not possible yet: see the open points above.';
  return null;
}

function isMixed({ warnings }: FleetMessage['progress']): boolean {
  return warnings?.some(({ name }) => name === 'mixedStates') ?? false;
}
