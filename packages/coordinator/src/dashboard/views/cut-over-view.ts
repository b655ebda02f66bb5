import type { CommandName } from '@convoy/api/contract/commands';
import type { FleetMessage } from '../message.js';
import { countText, durationText } from './quantity.js';

/** One condition of a commit. */
export interface CheckView {
  readonly label: string;
  readonly status: 'met' | 'open' | 'unknown';
  readonly detail: string;
}

/** One button. */
export interface ActionView {
  readonly name: CommandName;
  readonly label: string;
  /** Why it cannot be pressed; null when it can. */
  readonly refusal: string | null;
  /** What it will do, to be confirmed. */
  readonly consequence: string;
  readonly isFinal: boolean;
}

export interface CutOverView {
  readonly checks: readonly CheckView[];
  readonly actions: readonly ActionView[];
}

/** Lag up to which a commit is accepted, in seconds. */
const lagMax_seconds = 30;

/**
 * What a commit needs, and which commands can be given now.
 * @param noReverse why the committed migration cannot be reversed, where that is known
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
      action('start', 'Start', 'Checks both clusters and begins to copy. The destination is written to.'),
      action(
        'pause',
        'Pause',
        'Every instance finishes its writes in flight and stores where it is. While paused nothing is read, and the source’s oplog has to reach back to this moment when you resume.',
      ),
      action('resume', 'Resume', 'Every instance goes on where it stopped.'),
      action(
        'commit',
        'Commit',
        'Ends the migration: everything written so far is drained, indexes and attributes are made final, and the destination is opened. Stop the writers of the source before, unless user write blocking is on. The only way back is a reverse, for migrations that were started with reversible.',
        true,
      ),
      action(
        'reverse',
        'Reverse',
        'Source and destination change roles: the former source follows the new cluster from now on. A migration that was not started with reversible refuses it, and nothing changes.',
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
  const doubtful = all.reduce((sum, { stats }) => sum + (stats?.pendingRereads ?? 0), 0);
  const ready = all.filter(({ canCommit }) => canCommit).length;
  const over = progress.state === 'COMMITTED';
  return [
    check('No failure', failure === null, failure === null ? 'none' : failure.error),
    check('Every instance is heard', isConnected && wanted > 0 && heard === wanted, `${heard} of ${wanted}`),
    check(
      'All documents are copied',
      copied,
      progress.percent === null ? 'not begun' : `${progress.percent.toFixed(1)} %`,
    ),
    over || lag !== null
      ? check(`Lag at most ${lagMax_seconds} s`, over || (lag ?? 0) <= lagMax_seconds, durationText(lag ?? 0))
      : { label: `Lag at most ${lagMax_seconds} s`, status: 'unknown', detail: 'not known' },
    {
      label: 'Keys in doubt',
      status: progress.info === null ? 'unknown' : doubtful === 0 ? 'met' : 'open',
      detail: doubtful === 0 ? 'none' : `${countText(doubtful)}, drained by the commit`,
    },
    verifierCheck(progress),
    check(
      'Every instance is ready',
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
  if (verification === null) return { label: 'Verifier', status: 'unknown', detail: 'off: compare with convoy verify' };
  const phase = verification.destination.phase ?? 'not started';
  return { label: 'Verifier follows', status: phase === 'stream hashing' ? 'met' : 'open', detail: phase };
}

function generalRefusal({ isConnected, instances }: FleetMessage, mayCommand: boolean, isLive: boolean): string | null {
  if (!isLive) return 'What is shown is stale: the coordinator does not answer.';
  if (!mayCommand) return 'Your token may look and not command.';
  if (!isConnected) return 'The coordinator has lost Redis; commands need it.';
  return Object.keys(instances).length === 0 ? 'No instance has reported yet.' : null;
}

function refusalOf(name: CommandName, { failure, progress, instances }: FleetMessage): string | null {
  const { state } = progress;
  if (failure !== null) return 'The migration has failed and takes no commands.';
  const allowed: Readonly<Record<CommandName, readonly string[]>> = {
    start: ['IDLE'],
    pause: ['RUNNING'],
    resume: ['PAUSED'],
    commit: ['RUNNING'],
    reverse: ['COMMITTED'],
  };
  // A command that only some instances have taken is sent again to the rest.
  const states = Object.values(instances).map((one) => one.state ?? '');
  const isHalfTaken =
    isMixed(progress) &&
    states.some((one) => allowed[name].includes(one)) &&
    (name !== 'commit' || states.includes('COMMITTING'));
  if (isHalfTaken) return null;
  if (!allowed[name].includes(state)) return `Only in ${allowed[name].join(' or ')}; the fleet is ${state}.`;
  if (name === 'commit' && !progress.canCommit) return 'A commit would be refused now: see the open points above.';
  return null;
}

function isMixed({ warnings }: FleetMessage['progress']): boolean {
  return warnings?.some(({ name }) => name === 'mixedStates') ?? false;
}
