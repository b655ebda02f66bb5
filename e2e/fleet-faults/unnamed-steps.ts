import { type LeaderStep, leaderSteps, writes } from './leader-steps.js';
import type { SentCommand } from '../gate/wire-messages.js';
import { isWrite } from './write-effects.js';

/** What every instance writes for its own task. */
const ofMembers: ReadonlySet<string> = new Set([
  'tasks',
  'partitions',
  'rereads',
  'fence',
  'verificationPlans',
  'verificationParts',
  'mismatches',
]);
/** What leaders write for operators only: nothing waits for it, and nothing fails without it. */
const ofOperators: ReadonlySet<string> = new Set(['history']);
/** A warning says what holds a commit; only data that violates a unique index makes a leader send it. */
const warns = writes('migration', 'warnings');
/** A commit waits for the first look at what stays behind. Whoever leads looks, and a look writes nothing else. */
const looks = writes('migration', 'inventoryLook');
/** The first instance that takes a command of the fleet records it for those that miss it, be it the leader or not. */
const recordsCommand = writes('migration', 'fleetCommands.noted');
/** Sent between two steps, which they belong to: zones that place ranges and are removed again. */
const alongside: ReadonlySet<string> = new Set([
  'addShardToZone',
  'removeShardFromZone',
  'updateZoneKeyRange',
  'split',
  'moveChunk',
]);
const steps: readonly LeaderStep[] = Object.values(leaderSteps).flat();

/** Whether a command writes or changes something that no step is named for: then the list of steps lacks one. */
export function isUnnamed(command: SentCommand): boolean {
  const { name, database, target, body } = command;
  if (!isWrite(command) || alongside.has(name) || steps.some(({ matches }) => matches(command))) return false;
  if (database !== 'convoy_metadata') return true;
  // The first of all writes is that of the start; what former leaders have stored is removed before it is stored anew.
  return (
    !ofMembers.has(target) &&
    !ofOperators.has(target) &&
    !warns(command) &&
    !looks(command) &&
    !recordsCommand(command) &&
    name !== 'delete' &&
    !JSON.stringify(body).includes('$setOnInsert')
  );
}
