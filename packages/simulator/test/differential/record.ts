import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fromExtendedJson, toExtendedJson } from '../extended-json.js';
import type { Doc } from '../../src/bson/value.js';
import type { Json } from '../conformance/corpus-file.js';
import { asRecorded } from '../conformance/driver-error.js';
import { type HostRoles, recordedRoles } from '../conformance/host-roles.js';
import { host } from '../conformance/pattern.js';
import { isExtended } from '../conformance/value-forms.js';
import type { Command, Numbered } from './case.js';
import type { Shrunk } from './run-family.js';
import { type Nodes, Side } from './side.js';

/** The nodes' addresses in the corpus, by their parts: one of those that stand for each. */
const recordedHosts = new Map([...recordedRoles].map(([address, role]) => [role, address]));

/**
 * Plays a shrunk difference on the real cluster once more and adds what it answered to a file of the corpus; the first
 * time also what its family stands on.
 * @param file path of the file; made where it is not there
 */
export async function record(real: Nodes, { family, seed, commands }: Shrunk, file: string): Promise<void> {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [headingOf(file)];
  const side = new Side(real);
  const note = (text: string): void => {
    lines.push(JSON.stringify({ step: lines.length, note: text }));
  };
  const play = async (command: Command): Promise<void> => {
    const step = { ...command, file, step: lines.length };
    lines.push(JSON.stringify(lineOf(step, await side.send(step), real.roles)));
  };
  const fixtureNote = `What ${family.name} stand on`;
  if (!lines.some((line) => line.includes(JSON.stringify(fixtureNote)))) {
    note(fixtureNote);
    for (const command of family.fixture) await play(command);
  }
  note(`${family.name}, seed ${seed}`);
  for (const command of family.reset) await play(command);
  const unique = lines.length;
  const steps = new Map(commands.map((command, index) => [command.step, lines.length + index]));
  for (const command of commands) await play({ ...command, command: relocated(command.command, steps, unique) });
  writeFileSync(file, `${lines.join('\n')}\n`);
}

function headingOf(file: string): string {
  return JSON.stringify({
    scenario: basename(file, '.jsonl'),
    about: 'What random commands found to differ, each with what it needs before it.',
  });
}

/** A command whose references name steps of the file, and whose sessions no other case of the file has. */
function relocated(json: Json, steps: ReadonlyMap<number, number>, unique: number): Json {
  if (Array.isArray(json)) return json.map((each) => relocated(each, steps, unique));
  if (json === null || typeof json !== 'object') return toExtendedJson(fromExtendedJson(json)) as Json;
  if (isExtended(json)) return json;
  return Object.fromEntries(
    Object.entries(json).map(([name, value]) => {
      if (name.endsWith('OfStep') && typeof value === 'number') return [name, steps.get(value) ?? 0];
      if (name === 'session' && typeof value === 'string') return [name, `${value}${unique}`];
      return [name, relocated(value, steps, unique)];
    }),
  );
}

/** An address as the corpus has it, with the name of its set where that stands before it. */
function recordedHost(found: string, roles: HostRoles): string {
  const [address = '', set] = found.split('/').reverse();
  const recorded = recordedHosts.get(roles.get(address) ?? '') ?? address;
  return set === undefined ? recorded : `${set}/${recorded}`;
}

function lineOf({ step, on, who, db, command, unordered, file }: Numbered, reply: Doc, roles: HostRoles): Json {
  const answered = JSON.parse(
    JSON.stringify(toExtendedJson(reply)).replace(host, (found) => recordedHost(found, roles)),
  ) as Json;
  const outcome = reply.has('errmsg')
    ? { error: asRecorded(answered, { file, step, command, error: null }) }
    : { reply: answered };
  return {
    step,
    on,
    ...(who !== undefined && { who }),
    db,
    command,
    ...(unordered === true && { unordered }),
    ...outcome,
  };
}
