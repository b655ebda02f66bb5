import { compareOutcomes, type Difference } from '../conformance/compare-outcomes.js';
import type { Doc } from '../../src/bson/value.js';
import { type Command, numbered, type Numbered } from './case.js';
import { exactJson } from './exact-json.js';
import { type Nodes, OwnSessions, Side } from './side.js';

/** Two clusters that are asked the same: the one that is right, and the one that is tried. */
export interface Pair {
  readonly real: Nodes;
  readonly tried: Nodes;
}

/** Where the two answered differently. */
export interface Found {
  readonly at: Numbered;
  readonly real: Doc;
  readonly tried: Doc;
  readonly differences: readonly Difference[];
}

/** How the commands of a case came out, up to the first that differs. */
export interface Outcome {
  readonly equal: number;
  /** Refused by the tried one by name, as not simulated; the commands after it are not played. */
  readonly refused: number;
  /** Commands that both refused. */
  readonly failed: number;
  readonly found: Found | undefined;
}

/** Whether a command, or a statement of it, is not simulated. */
function refusesByName(reply: Doc): boolean {
  const errors = reply.get('writeErrors');
  const all = [reply, ...(Array.isArray(errors) ? errors : [])].map((each) =>
    each instanceof Map ? each.get('errmsg') : undefined,
  );
  return all.some((message) => typeof message === 'string' && unsimulated.test(message));
}

/** Ends every message by which the simulator says that it does not simulate something. */
export const unsimulated = /is not part of this simulation/;

/** Brings both clusters to the beginning of a case. */
export async function prepare(pair: Pair, commands: readonly Command[]): Promise<void> {
  await Promise.all([pair.real, pair.tried].map((nodes) => prepareOne(nodes, commands)));
}

async function prepareOne(nodes: Nodes, commands: readonly Command[]): Promise<void> {
  const side = new Side(nodes);
  for (const command of numbered(commands)) {
    const reply = await side.send(command);
    if (reply.has('errmsg')) throw new Error(`${JSON.stringify(command)} failed: ${JSON.stringify(exactJson(reply))}`);
  }
}

/** Plays commands on both clusters until they answer differently. */
export async function playCase(pair: Pair, commands: readonly Numbered[]): Promise<Outcome> {
  const sessions = new OwnSessions();
  const real = new Side(pair.real, sessions);
  const tried = new Side(pair.tried, sessions);
  let [equal, failed] = [0, 0];
  for (const command of commands) {
    const [fromReal, fromTried] = await Promise.all([real.send(command), tried.send(command)]);
    if (refusesByName(fromTried)) return { equal, failed, refused: 1, found: undefined };
    const differences = compareOutcomes(
      command,
      exactJson(fromReal),
      pair.real.roles,
      exactJson(fromTried),
      pair.tried.roles,
    );
    if (differences.length > 0)
      return { equal, failed, refused: 0, found: { at: command, real: fromReal, tried: fromTried, differences } };
    equal += 1;
    if (fromReal.has('errmsg')) failed += 1;
  }
  return { equal, failed, refused: 0, found: undefined };
}
