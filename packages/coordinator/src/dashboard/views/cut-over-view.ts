import type { commandStates, steadyLagMax_seconds } from '@convoy/api/contract/command-rules';
import type { CommandName } from '@convoy/api/contract/commands';
import type { nextStepAfterFailure } from '@convoy/api/contract/next-step';
import type { MigrationState } from '@convoy/api/contract/progress';
import type { CommandView, FleetMessage } from '../message.js';
import { blockerGroups, namesText } from './blocker-groups.js';
import { sourceWritesText, waitsForStart } from './progress-texts.js';
import { countText, durationText } from './quantity.js';
import { verdictOf } from './verdict.js';

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
  /** Its effect, for the confirmation. */
  readonly consequence: string;
  /** Whether there may be no way back, so that the user has to type the command's name. */
  readonly isFinal: boolean;
}

export interface CutOverView {
  /** What to do or to wait for, or why no command is possible. */
  readonly advice: string;
  /** Preconditions of a commit, while one lies ahead; after it, what is done and what is left to do. */
  readonly checks: readonly CheckView[];
  /** The command that leads on; null when there is none now. */
  readonly primary: ActionView | null;
  /** Other commands that are possible now. */
  readonly secondary: readonly ActionView[];
}

const allReady = 'All instances ready';

/** As command line and report say it. */
const failureStep: typeof nextStepAfterFailure =
  'Remove the cause, stop all instances, run convoy cleanup, drop the unfinished copy, and start again.';

const readOnly = 'Your token is read-only: commands need another one.';

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

/** The start, whose options have a card of their own. */
export const startAction: ActionView = {
  name: 'start',
  label: 'Start',
  consequence: 'Checks both clusters, then copies the data to the destination with these options:',
  isFinal: false,
};

const actions: readonly ActionView[] = [
  startAction,
  { name: 'resume', label: 'Resume', consequence: 'Every instance continues from its checkpoint.', isFinal: false },
  {
    name: 'commit',
    label: 'Commit',
    consequence:
      'Applies all remaining changes, finalizes indexes and options, then opens the destination for writes. Stop ' +
      'the source’s writers first, unless user write blocking is on.',
    isFinal: true,
  },
  {
    name: 'pause',
    label: 'Pause',
    consequence:
      'Every instance finishes its writes in flight and stores a checkpoint. The source’s oplog keeps rolling: ' +
      'resume before it wraps.',
    isFinal: false,
  },
  {
    name: 'reverse',
    label: 'Reverse',
    consequence:
      'Swaps source and destination: the former source then follows the new cluster. Works only for migrations ' +
      'started with reversible; otherwise nothing changes.',
    isFinal: true,
  },
];

/** Commands that lead on. The others stop a migration or turn it round. */
const leadingOn: readonly CommandName[] = ['start', 'resume', 'commit'];

/**
 * The preconditions of a commit and the possible commands.
 * @param noReverse why the committed migration cannot be reversed, if known
 */
export function cutOverView(
  message: FleetMessage,
  mayCommand: boolean,
  isLive: boolean,
  noReverse: string | null = null,
): CutOverView {
  const refusal = generalRefusal(message, isLive);
  const possible =
    refusal !== null || !mayCommand
      ? []
      : actions
          .filter(({ name }) => isPossible(name, message) && (name !== 'reverse' || noReverse === null))
          .map((action) => withWrites(action, message));
  const primary = possible.find(({ name }) => leadingOn.includes(name)) ?? null;
  return {
    advice: refusal ?? `${adviceOf(message, noReverse)}${mayCommand ? '' : ` ${readOnly}`}`,
    checks: checksOf(message),
    primary,
    secondary: possible.filter((action) => action !== primary),
  };
}

function checksOf(message: FleetMessage): readonly CheckView[] {
  const { failure, progress } = message;
  if (failure !== null) return [];
  if (progress.state === 'COMMITTED') return committedChecks(message);
  // An instance that commits no longer offers it.
  if (progress.state === 'COMMITTING') return commitChecks(message).filter(({ label }) => label !== allReady);
  return ['RUNNING', 'PAUSED'].includes(progress.state) ? commitChecks(message) : [];
}

/** Whoever has committed wants to know that nothing is missing, and what is left to do. */
function committedChecks({ failure, progress }: FleetMessage): CheckView[] {
  const { kind, text } = verdictOf({ failure, progress });
  const verified = kind === 'verified' ? 'met' : kind === 'notVerified' ? 'unknown' : 'open';
  return [
    check('Destination accepts writes', progress.canWrite === true, progress.canWrite === true ? 'yes' : 'not yet'),
    { label: 'Both clusters compared', status: verified, detail: text },
    check('Metadata removed', isCleanedUp(progress), isCleanedUp(progress) ? 'yes' : 'at the end: convoy cleanup'),
  ];
}

function commitChecks({ instances, expectedIds, progress, isConnected }: FleetMessage): CheckView[] {
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
  return [
    check('All instances send heartbeats', isConnected && wanted > 0 && heard === wanted, `${heard} of ${wanted}`),
    check(
      'All documents copied',
      copied,
      progress.percent === null ? 'not started' : `${progress.percent.toFixed(1)} %`,
    ),
    lag === null
      ? { label: `Lag at most ${lagMax_seconds} s`, status: 'unknown', detail: 'unknown' }
      : check(`Lag at most ${lagMax_seconds} s`, lag <= lagMax_seconds, durationText(lag)),
    {
      label: 'Documents to re-read',
      status: progress.info === null ? 'unknown' : rereads === 0 ? 'met' : 'open',
      detail: rereads === 0 ? 'none' : `${countText(rereads)}, finished by the commit`,
    },
    verifierCheck(progress),
    check(allReady, wanted > 0 && ready === wanted, `${ready} of ${wanted}`),
    ...(progress.canCommit || isCommitWatched(progress) ? [writesCheck(progress)] : []),
    ...blockerGroups(progress.commitBlockers).map(({ instances: names, description }) =>
      check(`Commit waits for ${namesText(names)}`, false, description),
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

/** A commit that runs and still shows who writes. */
function isCommitWatched({ state, sourceWrites }: FleetMessage['progress']): boolean {
  return state === 'COMMITTING' && sourceWrites !== null;
}

/** Writers that still write are no obstacle for Convoy, but for who commits; during the copy they are usual. */
function writesCheck({ state, sourceWrites }: FleetMessage['progress']): CheckView {
  const label = 'Nobody writes to the source';
  if (sourceWrites === null) return { label, status: 'unknown', detail: 'unknown' };
  return check(label, sourceWrites.writes === 0, sourceWritesText({ state, sourceWrites }));
}

/** The confirmation of a commit says whether anybody still writes, and whether there is a way back. */
function withWrites(action: ActionView, { progress }: FleetMessage): ActionView {
  if (action.name !== 'commit') return action;
  const { options, sourceWrites } = progress;
  const sign = (sourceWrites?.writes ?? 0) > 0 ? '▲ ' : '';
  return {
    ...action,
    consequence: `${sign}${sourceWritesText(progress)}\n\n${action.consequence} ${wayBackText(options)}`,
  };
}

/** Options that are too large are not reported. */
function wayBackText(options: FleetMessage['progress']['options']): string {
  if (options === null) return 'Only a reversible migration can go back.';
  return options['reversible'] === true
    ? 'A reverse can go back afterwards.'
    : 'There is no way back: the migration was not started with reversible.';
}

function generalRefusal({ isConnected, instances }: FleetMessage, isLive: boolean): string | null {
  if (!isLive)
    return (
      'The coordinator does not respond: these values are old. The migration continues without it. ' +
      'Check its process and the network.'
    );
  if (!isConnected)
    return (
      'The coordinator cannot reach Redis, which commands need: these values are old. Instances continue without it. ' +
      'Check Redis.'
    );
  return Object.keys(instances).length === 0
    ? 'Start one instance for each source shard (convoy instance), with the same Redis and fleet.'
    : null;
}

function adviceOf({ failure, progress }: FleetMessage, noReverse: string | null): string {
  if (failure !== null) return failureStep;
  if (progress.state === 'RUNNING' && progress.currentStep?.name === 'awaitInstances')
    return 'Check the instances in the present step, and repeat the command.';
  if (progress.state === 'RUNNING' && waitsForStart(progress))
    return 'Start the instances that the warning names: nothing is copied before all have started.';
  if (progress.state === 'RUNNING' && isWarned(progress, 'retrying'))
    return 'Wait until nothing is repeated: the warning says what fails, and why.';
  if (progress.state === 'RUNNING' && progress.canCommit)
    return 'Everything is ready. Stop the writers of the source, then commit.';
  if (isCleanedUp(progress)) return 'Stop the instances, or restart them before another migration.';
  if (progress.state === 'COMMITTED' && noReverse !== null)
    return `Point your applications to the destination. Reverse: ${noReverse}`;
  const advices: Readonly<Record<MigrationState, string>> = {
    INITIALIZING: 'The migration can start once every instance has connected to both clusters.',
    IDLE: 'Start the migration.',
    RUNNING: 'Wait: a commit is possible once every point is met.',
    PAUSED: 'Resume before the oplog of the source wraps.',
    COMMITTING: 'Wait: the destination opens for writes at the end of the commit. Do not write to either cluster yet.',
    COMMITTED: 'Point your applications to the destination. A reverse swaps the clusters.',
    REVERSING: 'Wait: the clusters change roles.',
  };
  return advices[progress.state];
}

function isPossible(name: CommandName, { failure, progress, instances }: FleetMessage): boolean {
  if (failure !== null) return false;
  if (isCleanedUp(progress)) return false;
  // A command that only some instances accepted can be repeated for the rest.
  const states = Object.values(instances).map((one) => one.state ?? '');
  const isPartlyAccepted =
    isMixed(progress) && states.includes(allowed[name]) && (name !== 'commit' || states.includes('COMMITTING'));
  return isPartlyAccepted || (progress.state === allowed[name] && (name !== 'commit' || progress.canCommit));
}

/** Without its metadata a committed migration takes no command. */
function isCleanedUp({ state, metadataRemoved }: FleetMessage['progress']): boolean {
  return state === 'COMMITTED' && metadataRemoved === true;
}

function isMixed(progress: FleetMessage['progress']): boolean {
  return isWarned(progress, 'mixedStates');
}

function isWarned({ warnings }: FleetMessage['progress'], warning: string): boolean {
  return warnings?.some(({ name }) => name === warning) ?? false;
}

export interface AnswerView {
  readonly accepted: boolean;
  readonly text: string;
}

/**
 * The instances' replies to a command: one line per rejection, one for all acceptances, one for those without a reply.
 * @param waitingFor instances that take the recorded command by themselves
 */
export function answerViews(results: CommandView['results'], waitingFor: readonly string[] = []): AnswerView[] {
  const all = Object.entries(results);
  const accepted = all.filter(([, { success }]) => success).map(([id]) => id);
  const refused = all.filter(([, { success }]) => !success);
  return [
    ...refused.map(([id, { error, errorDescription }]) => ({
      accepted: false,
      text: `✕ ${id}: ${error ?? 'refused'}. ${errorDescription ?? ''}`.trimEnd(),
    })),
    ...(accepted.length === 0 ? [] : [{ accepted: true, text: `✓ accepted: ${accepted.join(', ')}` }]),
    ...(waitingFor.length === 0 ? [] : [{ accepted: true, text: recordedText(waitingFor) }]),
  ];
}

function recordedText(waitingFor: readonly string[]): string {
  const verb = waitingFor.length === 1 ? 'takes' : 'take';
  return `◌ recorded for ${waitingFor.join(', ')}, which ${verb} it without being asked again`;
}

const notReversible = 'Not started with reversible.';

/**
 * Why a reverse would be rejected, as far as known; null when it may be accepted.
 * @param commands the last commands with their replies
 */
export function reverseRefusal(
  { instances, progress }: Pick<FleetMessage, 'instances' | 'progress'>,
  commands: readonly CommandView[],
): string | null {
  const last = commands.filter(({ name }) => name === 'reverse').at(-1);
  if (last !== undefined && Object.values(last.results).some(({ error }) => error === 'notReversible'))
    return notReversible;
  const stats = Object.values(instances).flatMap((instance) => instance.stats ?? []);
  const shards = (of: 'sourceShards' | 'destinationShards'): number => new Set(stats.flatMap((one) => one[of])).size;
  const isWhole = stats.length > 0 && stats.length === Object.keys(instances).length;
  if (isWhole && shards('sourceShards') !== shards('destinationShards'))
    return 'Not possible with different numbers of shards.';
  return progress.options?.['reversible'] === false ? notReversible : null;
}
